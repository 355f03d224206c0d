// What each device of a process waited for, as the export draws it: a lane for each.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "analyze/sums/idle.h"
#include "trace/process.h"

namespace turnpike::report {

struct IdleSlice {
  analyze::Interval time;
  analyze::IdleCause cause;
  std::uint32_t place;        // index into the places; analyze::kNone
  std::uint32_t correlation;  // of the call that the device waited for; 0: not known
};

struct IdleLanes {
  std::map<std::uint32_t, std::vector<IdleSlice>> of_device;
  std::vector<analyze::CallSite> places;
};

// Empty where kernels were not recorded.
IdleLanes idle_lanes(const trace::Process& process, const analyze::Timeline& timeline);

}  // namespace turnpike::report
