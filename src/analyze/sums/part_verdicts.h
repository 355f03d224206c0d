// Verdicts of parts of a process: of its steps, each looked at alone, and of its NVTX ranges.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "analyze/sums/device_times.h"
#include "trace/process.h"

namespace turnpike::analyze {

// How many steps are bound by what. `steps`: as whole_steps() gives them.
std::map<Bound, std::uint64_t> steps_by_bound(const DeviceTimes& times, std::span<const Interval> steps);

// Of the names with the most time, at most 20; numbers at the end of a name are left away.
std::vector<RangeVerdict> range_verdicts(const DeviceTimes& times, const trace::Process& process,
                                         const Timeline& timeline);

}  // namespace turnpike::analyze
