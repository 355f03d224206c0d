// What each device of a process was doing when: how much of a transfer no kernel hid, and how long a device idled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Copies within a device, and memsets: they are computing, as kernels are.
bool is_within_device(Direction direction);

struct DeviceActivity {
  IntervalSet kernels;
  IntervalSet computing;          // kernels, copies within the device, and memsets
  IntervalSet busy;               // these, other copies, and migrations
  IntervalSet collectives_alone;  // kernels of collectives while nothing else computes
};

// By device id; with the kernels known only (see below). Host-to-host copies occupy no device.
class Activity {
 public:
  // `are_kernels_recorded`: false when the recording left kernels out; nothing can be said about overlap and idling
  // then.
  Activity(const trace::Process& process, const Timeline& timeline, bool are_kernels_recorded);

  bool is_known() const { return is_known_; }
  const std::map<std::uint32_t, DeviceActivity>& devices() const { return devices_; }
  // Time of the transfer during which no kernel ran on its device; nullopt: its times or the kernels are unknown, or it
  // occupies no device.
  std::optional<std::int64_t> exposed_ns(const Transfer& transfer) const;
  // Time of [start_ns, end_ns) in which the device ran nothing at all; nullopt: kernels or device unknown.
  std::optional<std::int64_t> idle_ns(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) const;
  // `device`, or the only one that did anything when `device` is kUnknownId; else kUnknownId.
  std::uint32_t resolve(std::uint32_t device) const;

 private:
  bool is_known_;
  std::map<std::uint32_t, DeviceActivity> devices_;
};

// Whether the recording holds kernels. Where it holds none: it was made in full detail and nothing was launched.
bool are_kernels_recorded(const Timeline& timeline, const std::string& detail);

}  // namespace turnpike::analyze
