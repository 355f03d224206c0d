// What bounds the run: the verdict drawn from how the devices spent their time (device_times.h).
//
// It is about the steps where there are any: from the start of the first to the end of the last whole one, without
// those that warm up and without pauses (pauses.h); where the host runs ahead, as the devices have them
// (device_step.h). Start-up, checkpoints at the end and the like are no part of it then. Without steps it is about the
// time from the first work of the devices to the last, and from the first wait for a data loader on if that is earlier:
// what comes before and after is only told. Several devices and processes add up. This knows no dependencies: it says
// where time went, not what would be gained.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyze/report.h"
#include "analyze/sums/device_times.h"

namespace turnpike::analyze {

// From this share of computing on, the gaps between pieces of work that were issued in time included, there is little
// left to gain from anything but faster kernels. Down to the second share that holds, too, unless a single cause takes
// the third. These are the conventions of the judges of bench/verdicts.
inline constexpr double kGpuBoundPct = 80.0;
inline constexpr double kMostlyGpuPct = 70.0;
inline constexpr double kStandsOutPct = 20.0;

// What a verdict calls the cause: the largest one of lost time.
Bound bound_by(const DeviceTime& time);

// What a verdict is about.
struct VerdictScope {
  std::uint64_t whole_steps = 0;  // of all processes; 0: no steps were found, and it is all from the first work of the
                                  // devices to the last
  std::size_t processes = 0;      // that have steps
  bool has_warm_up = false;       // whether steps at the start were left out
  std::size_t pauses = 0;         // how many steps were left out because they last much longer than the others
  bool is_of_devices = false;     // the host ran ahead: it is about the time in which devices did what steps issued
  bool is_range = false;          // it is about the ranges of one name
  // Without steps: what was recorded before and after. Of several processes the longest.
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
  std::uint64_t launches = 0;       // that must run something
  std::uint64_t lost_launches = 0;  // those of which there is no work: from more than half on, nothing can be said
  bool are_copies_untimed = false;  // of the copies from and to the devices of a process, none has times
};

Verdict judge(const DeviceTime& time, const VerdictScope& scope);

}  // namespace turnpike::analyze
