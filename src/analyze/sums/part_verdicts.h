// Verdicts of parts of a process: of its steps, each looked at alone, and of its NVTX ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/model/steps.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "analyze/sums/verdict.h"
#include "trace/process.h"

namespace turnpike::analyze {

// How many steps are bound by what.
std::map<Bound, std::uint64_t> steps_by_bound(const DeviceTimes& times, const FoundSteps& steps);

// Of the names with the most time, at most 20; numbers at the end of a name are left away.
std::vector<RangeVerdict> range_verdicts(const DeviceTimes& times, const trace::Process& process,
                                         const Timeline& timeline);

}  // namespace turnpike::analyze
