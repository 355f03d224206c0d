// What bounds the run: the verdict drawn from how the devices spent their time (device_times.h).
//
// It is about the steps where there are any: from the start of the first to the end of the last whole one, without
// those that warm up and without pauses (pauses.h); where the host runs ahead, as the devices have them
// (device_step.h). Start-up, checkpoints at the end and the like are no part of it then. Several devices and processes
// add up. This knows no dependencies: it says where time went, not what would be gained.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyze/report.h"
#include "analyze/sums/device_times.h"

namespace turnpike::analyze {

// From this share of computing on, the gaps between pieces of work that were issued in time included, there is little
// left to gain from anything but faster kernels.
inline constexpr double kGpuBoundPct = 90.0;

// What a verdict calls the cause.
Bound bound_by(const DeviceTime& time);

// What a verdict is about.
struct VerdictScope {
  std::uint64_t whole_steps = 0;  // of all processes; 0: no steps were found, and it is the whole run
  std::size_t processes = 0;      // that have steps
  bool has_warm_up = false;       // whether steps at the start were left out
  std::size_t pauses = 0;         // how many steps were left out because they last much longer than the others
  bool is_of_devices = false;     // the host ran ahead: it is about the time in which devices did what steps issued
  bool is_range = false;          // it is about the ranges of one name
};

Verdict judge(const DeviceTime& time, const VerdictScope& scope);

}  // namespace turnpike::analyze
