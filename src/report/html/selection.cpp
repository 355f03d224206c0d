#include "report/html/selection.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace turnpike::report::html {

std::optional<analyze::Interval> kept_stretch(const analyze::Timeline& timeline, const std::vector<bool>& always,
                                              Contested others, std::size_t max_events, std::int64_t middle_ns) {
  std::vector<std::int64_t> starts_ns = std::move(others.starts_ns);
  std::size_t fixed = timeline.ranges.size() + timeline.transfers.size() + others.kept;
  for (const analyze::Kernel& kernel : timeline.kernels) {
    if (kernel.has_times()) starts_ns.push_back(kernel.start_ns);
  }
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
    if (!timeline.calls[i].has_times()) continue;
    if (always[i]) {
      ++fixed;
    } else {
      starts_ns.push_back(timeline.calls[i].start_ns);
    }
  }
  if (fixed + starts_ns.size() <= max_events) return std::nullopt;
  const std::size_t count = fixed < max_events ? max_events - fixed : 0;
  if (count == 0) return analyze::Interval{middle_ns, middle_ns};
  std::sort(starts_ns.begin(), starts_ns.end());
  const auto middle =
      static_cast<std::size_t>(std::lower_bound(starts_ns.begin(), starts_ns.end(), middle_ns) - starts_ns.begin());
  // As much before the middle as after it, if there is enough on both sides.
  const std::size_t last_from = starts_ns.size() - std::min(count, starts_ns.size());
  const std::size_t from = std::min(middle > count / 2 ? middle - count / 2 : 0, last_from);
  const std::size_t to = from + count;
  const std::int64_t end_ns = to < starts_ns.size() ? starts_ns[to] : std::numeric_limits<std::int64_t>::max();
  return analyze::Interval{starts_ns[from], end_ns};
}

}  // namespace turnpike::report::html
