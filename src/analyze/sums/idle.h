// What each device waited for: every stretch of its time in which it does not compute, with the cause and the place.
//
// A device whose next work was issued before it stopped waits for nothing that the host does: the cause is
// between_kernels. Where that takes longer than a device takes between two pieces of work, the device waits for a copy
// from another one, which is a copy of both; for other_device, which is at work meanwhile; or else for unrecorded work.
// The same holds from kQuietNs after work was issued on, and while a synchronisation holds the host for longer than
// that. Where launches are in the recording and their work is not (lost_work.h), the device may do that work.
// Else the host explains it, by what it did meanwhile (HostStates). Where the host was held in the gap, the device ran
// dry because of that, so issuing the next work belongs to the same cause.
//
// The place is the line that made the device wait:
//  - copies only: the line of the copy;
//  - copy, sync: the line of the call that held the host, also for the time of issuing work after it;
//  - allocation: the line that allocates or frees;
//  - input: the line that took the batch;
//  - launch: the line in which samples found the host; else the line of the late call;
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

// From the end of one piece of work to the start of the next, where that was issued before. In recordings of 41
// programs, longer gaps before work that was issued before were 0.4 % of the time at most, and 25 to 54 % in three that
// lacked work of the GPU.
inline constexpr std::int64_t kBetweenKernelsNs = 20'000;

// Whether a device can have waited for this work of another one: but for the moment between two pieces of work, or for
// most of the time.
bool explains_waiting(const IntervalSet& work, const Interval& waiting);

struct IdleInterval {
  Interval time;  // not empty
  IdleCause cause;
  // Index into places() of its IdleTimes; kNone: not known.
  std::uint32_t place;
  // The call whose end the device waited for, as an index into Timeline::calls; kNone: not known. Of copy and sync the
  // call that held the host, of copies_only the call that asked for the copy, of allocation the call that allocates, of
  // input the call behind the pause, of launch and unknown the call that asked for the work with which the device goes
  // on; of between_kernels, other_device and unrecorded none: no call was late.
  std::uint32_t call;
};

// The facts of the forward call behind a backward one; kNone for every other call.
using ForwardFacts = std::function<std::uint32_t(const Call&)>;

class IdleTimes {
 public:
  // Keeps references to all but `host`, `span` and `forward_facts`. `activity`: known. `span`: what the verdict is
  // about, the window of the steps or the whole run.
  IdleTimes(const Timeline& timeline, Stacks& stacks, const Activity& activity, HostActivity host,
            const Threads& host_threads, Interval span, ForwardFacts forward_facts);

  // The devices that did anything, rising.
  std::vector<std::uint32_t> devices() const;
  // The stretches of a device in the order of time, found once and in bounded memory, however many there are. They do
  // not overlap, and cover all time without computing from the device's first to its last record, and the whole span if
  // that is longer. A gap is several stretches where its cause changes. O(n log n); memory: 24 bytes for each transfer
  // of the device. Valid as long as this object.
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
  HostStates states_;
  const Threads& host_threads_;
  Interval span_;
  ForwardFacts forward_facts_;
  std::vector<CallSite> places_;
  std::shared_ptr<SpilledBytes> spilled_ = std::make_shared<SpilledBytes>();
  std::map<std::uint32_t, SpilledLog<IdleInterval>> kept_;  // by device
  std::map<Where, std::uint32_t> place_of_where_;
  std::unordered_map<std::uint64_t, std::uint32_t> place_of_facts_;  // by both kinds of facts
};

}  // namespace turnpike::analyze
