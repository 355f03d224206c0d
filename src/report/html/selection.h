// Which stretch of a long run a page shows in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "report/html/sorted_runs.h"

namespace turnpike::report::html {

// Further events that may have to be left out.
struct Contested {
  SortedRuns starts_ns{};
  std::size_t kept = 0;  // that are not
};

// Kernels and the calls that only keep the device busy are too many for one page in a long run. Transfers, waits,
// ranges and steps are always there. nullopt: everything fits. Else the stretch around `middle_ns` that holds
// `max_events` of the kernels and calls; those that start in it are kept. `always`: by call, whether it is kept anyway.
std::optional<analyze::Interval> kept_stretch(const analyze::Timeline& timeline, const std::vector<bool>& always,
                                              Contested others, std::size_t max_events, std::int64_t middle_ns);

}  // namespace turnpike::report::html
