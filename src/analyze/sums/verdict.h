// What bounds the run: what the GPU did with its time, and what the host did while the GPU ran no kernel.
//
// It is about the steps where there are any: from the start of the first to the end of the last whole one, without
// those that warm up; where the host runs ahead, as the devices have them (device_step.h). Start-up, checkpoints at the
// end and the like are no part of it then.
//
// Every nanosecond of that time is, on each device, exactly one of: a kernel runs; a transfer runs and no kernel;
// nothing runs, for the cause that host_states.h gives to the moment. Several devices and processes add up. This knows
// no dependencies: it says where time went, not what would be gained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/model/activity.h"
#include "analyze/model/intervals.h"
#include "analyze/report.h"
#include "analyze/sums/host_states.h"

namespace turnpike::analyze {

// From this share of busy time on there is little left to gain from anything but faster kernels.
inline constexpr double kGpuBoundPct = 90.0;

// The time of all devices by what it was spent on.
struct DeviceTime {
  std::int64_t span_ns = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t exposed_transfer_ns = 0;
  std::int64_t idle_ns = 0;  // the five below, summed
  std::int64_t copy_wait_ns = 0;
  std::int64_t sync_wait_ns = 0;
  std::int64_t input_ns = 0;
  std::int64_t launch_ns = 0;  // calling CUDA, short pauses included
  std::int64_t quiet_ns = 0;

  void add(const DeviceTime& other);
};

// The time of devices in parts of the run. Summed over the devices that did anything.
class DeviceTimes {
 public:
  // Keeps a reference to `activity`. `host.span` is not looked at.
  DeviceTimes(const Activity& activity, HostActivity host);
  DeviceTime within(const IntervalSet& span) const;
  const HostStates& states() const { return states_; }

 private:
  const Activity& activity_;
  HostStates states_;
};

// In the span of `host`.
DeviceTime account(const Activity& activity, HostActivity host);

// What a verdict calls the cause.
Bound bound_by(const DeviceTime& time);

// What a verdict is about.
struct VerdictScope {
  std::uint64_t whole_steps = 0;  // of all processes; 0: no steps were found, and it is the whole run
  std::size_t processes = 0;      // that have steps
  bool has_warm_up = false;       // whether steps at the start were left out
  bool is_of_devices = false;     // the host ran ahead: it is about the time in which devices did what steps issued
  bool is_range = false;          // it is about the ranges of one name
};

Verdict judge(const DeviceTime& time, const VerdictScope& scope);

}  // namespace turnpike::analyze
