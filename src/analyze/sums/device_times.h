// How the devices spent their time, in parts of the run.
//
// Every nanosecond of a part is, on each device, exactly one of: the device computes (kernels, copies within it,
// memsets); only collectives run; only copies run; nothing runs, for one of the causes of idle.h. So the parts of the
// causes are sums of the same stretches that the table of idle time lists.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "analyze/model/activity.h"
#include "analyze/model/intervals.h"
#include "analyze/report.h"
#include "analyze/sums/idle.h"
#include "base/spilled_log.h"

namespace turnpike::analyze {

// The time of one device or of several.
struct DeviceTime {
  std::int64_t span_ns = 0;
  std::int64_t computing_ns = 0;
  std::int64_t collectives_ns = 0;  // nothing but collectives runs
  std::array<std::int64_t, kIdleCauses.size()> of_cause_ns{};

  std::int64_t of(IdleCause cause) const { return of_cause_ns[static_cast<std::size_t>(cause)]; }
  std::int64_t& of(IdleCause cause) { return of_cause_ns[static_cast<std::size_t>(cause)]; }
  // Nothing runs.
  std::int64_t idle_ns() const;
  void add(const DeviceTime& other);
};

// The devices whose work counts: one that does less than a tenth of what the busiest does has no part in what limits
// the program.
class DeviceTimes {
 public:
  // Reads the stretches of `idle` once. Keeps references to both.
  DeviceTimes(const Activity& activity, IdleTimes& idle);

  // Summed over the devices. Time that no stretch covers, before the first work of a device, is other work of the CPU.
  DeviceTime within(const IntervalSet& span) const;

 private:
  struct Device {
    const DeviceActivity* activity;
    const SpilledLog<IdleInterval>* stretches;
    std::vector<std::int64_t> chunk_starts_ns;  // of each SpilledLog::kChunk-th stretch
  };
  static DeviceTime within(const Device& device, const IntervalSet& span);
  static void add_stretches(const Device& device, const Interval& part, DeviceTime& time);

  std::vector<Device> devices_;
};

}  // namespace turnpike::analyze
