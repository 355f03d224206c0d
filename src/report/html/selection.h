// Which stretch of a long run a page shows in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "report/html/sorted_runs.h"

namespace turnpike::report::html {

// The starts of records that have times and are counted, as a run.
template <typename Records, typename IsCounted>
auto starts_of(const Records& records, IsCounted is_counted) {
  return [&records, is_counted](std::size_t from, const auto& take) {
    for (std::size_t i = from; i < records.size(); ++i) {
      if (records[i].has_times() && is_counted(i) && !take(i, records[i].start_ns)) return;
    }
  };
}
template <typename Records>
auto starts_of(const Records& records) {
  return starts_of(records, [](std::size_t) { return true; });
}

// Further events that may have to be left out.
struct Contested {
  SortedRuns starts_ns{};
  std::size_t kept = 0;  // that are not
};

// Kernels and the calls that only keep the device busy are too many for one page in a long run. Transfers, waits,
// ranges and steps are always there. nullopt: everything fits. Else the stretch around `middle_ns` that holds
// `max_events` of the kernels and calls; those that start in it are kept. `is_always_kept`: whether a call, by index,
// is kept anyway.
std::optional<analyze::Interval> kept_stretch(const analyze::Timeline& timeline,
                                              const std::function<bool(std::size_t)>& is_always_kept, Contested others,
                                              std::size_t max_events, std::int64_t middle_ns);

}  // namespace turnpike::report::html
