#include "report/html/selection.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace turnpike::report::html {

std::optional<analyze::Interval> kept_stretch(const analyze::Timeline& timeline,
                                              const std::function<bool(std::size_t)>& is_always_kept, Contested others,
                                              std::size_t max_events, std::int64_t middle_ns) {
  SortedRuns starts_ns = std::move(others.starts_ns);
  starts_ns.add_run(starts_of(timeline.kernels));
  starts_ns.add_run(starts_of(timeline.calls, [&](std::size_t call) { return !is_always_kept(call); }));
  std::size_t fixed = timeline.ranges.size() + timeline.transfers.size() + others.kept;
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
    if (timeline.calls[i].has_times() && is_always_kept(i)) ++fixed;
  }
  if (fixed + starts_ns.size() <= max_events) return std::nullopt;
  const std::size_t count = fixed < max_events ? max_events - fixed : 0;
  if (count == 0) return analyze::Interval{middle_ns, middle_ns};
  const std::size_t middle = starts_ns.count_before(middle_ns);
  // As much before the middle as after it, if there is enough on both sides.
  const std::size_t last_from = starts_ns.size() - std::min(count, starts_ns.size());
  const std::size_t from = std::min(middle > count / 2 ? middle - count / 2 : 0, last_from);
  const std::size_t to = from + count;
  const std::int64_t end_ns = to < starts_ns.size() ? starts_ns.at(to) : std::numeric_limits<std::int64_t>::max();
  return analyze::Interval{starts_ns.at(from), end_ns};
}

}  // namespace turnpike::report::html
