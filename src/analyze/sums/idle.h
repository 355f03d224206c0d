// What each device waited for: every stretch of its time in which no kernel runs, with the cause and the place.
//
// The causes are those of the verdict, from the same division of the host's time (HostStates): the stretches of a cause
// that lie in the steps add up to the verdict's share of it, to the nanosecond.
//
// The place is the line that made the device wait:
//  - copies only: the line of the copy;
//  - copy, sync: the line of the call that held the host;
//  - input: the line that took the batch;
//  - launch: the line of the wait in the same gap between two kernels, because the host could not issue work during it
//    and so the device ran dry; else the line in which samples found the host; else the line of the late call;
//  - unknown: the line in which samples found the host.
// Launches carry no stack in our recordings, so the place of a launch that is late by itself is known from samples
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analyze/model/activity.h"
#include "analyze/model/intervals.h"
#include "analyze/model/stacks.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "analyze/sums/host_states.h"
#include "base/spilled_log.h"

namespace turnpike::analyze {

struct IdleInterval {
  Interval time;  // not empty
  IdleCause cause;
  // Index into places() of its IdleTimes; kNone: not known.
  std::uint32_t place;
  // The call whose end the device waited for, as an index into Timeline::calls; kNone: not known. Of copy and sync the
  // call that held the host, of copies_only the call that asked for the copy, of input the call behind the pause, of
  // launch and unknown the call that asked for the work with which the device goes on; kNone where that work was queued
  // before the device stopped: then no call was late, and the stretch is what the device takes between two kernels.
  std::uint32_t call;
};

// The facts of the forward call behind a backward one; kNone for every other call.
using ForwardFacts = std::function<std::uint32_t(const Call&)>;

class IdleTimes {
 public:
  // Keeps references to all but `span` and `forward_facts`. `activity`: known. `span`: what the verdict is about, the
  // window of the steps or the whole run.
  IdleTimes(const Timeline& timeline, Stacks& stacks, const Activity& activity, const HostStates& states,
            const Threads& host_threads, Interval span, ForwardFacts forward_facts);

  // The devices that did anything, rising.
  std::vector<std::uint32_t> devices() const;
  // Hands on the stretches of a device in the order of time. They do not overlap, and cover all time without kernels
  // from the device's first to its last record, and the whole span if that is longer. A gap between two kernels is
  // several stretches where its cause changes. O(n log n); memory: 24 bytes for each transfer of the device.
  void each(std::uint32_t device, const std::function<void(const IdleInterval&)>& take);
  // From now on each() keeps what it hands on, for of() and for itself.
  void keep() { keeps_ = true; }
  // All of them, found once: in bounded memory, however many there are. Valid as long as this object.
  const SpilledLog<IdleInterval>& of(std::uint32_t device);
  // Every place that intervals handed on so far name. Places differ in `Where`; stack and api are of the first call.
  const std::vector<CallSite>& places() const { return places_; }
  Interval span() const { return span_; }

 private:
  class Walk;

  void walk(std::uint32_t device, const std::function<void(const IdleInterval&)>& take);
  std::uint32_t place_of_call(std::uint32_t call);
  std::uint32_t place_of_transfer(const Transfer& transfer);
  std::uint32_t place_of(std::uint32_t facts, std::uint32_t forward_facts);

  const Timeline& timeline_;
  Stacks& stacks_;
  const Activity& activity_;
  const HostStates& states_;
  const Threads& host_threads_;
  Interval span_;
  ForwardFacts forward_facts_;
  std::vector<CallSite> places_;
  bool keeps_ = false;
  std::shared_ptr<SpilledBytes> spilled_ = std::make_shared<SpilledBytes>();
  std::map<std::uint32_t, SpilledLog<IdleInterval>> kept_;  // by device
  std::map<Where, std::uint32_t> place_of_where_;
  std::unordered_map<std::uint64_t, std::uint32_t> place_of_facts_;  // by both kinds of facts
};

}  // namespace turnpike::analyze
