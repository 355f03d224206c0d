#include "analyze/model/device_step.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/statistics.h"

namespace turnpike::analyze {

std::optional<std::int64_t> device_step_ns(const Timeline& timeline, const FoundSteps& steps) {
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
  const auto first = std::lower_bound(steps.starts_ns.begin(), steps.starts_ns.end(), steps.window.start_ns);
  std::vector<std::int64_t> ends_ns(static_cast<std::size_t>(steps.starts_ns.end() - first), kNothing);
  const auto add = [&](const auto& work) {
    if (work.call == kNone || !work.has_times()) return;
    const auto after = std::upper_bound(first, steps.starts_ns.end(), timeline.calls[work.call].start_ns);
    if (after == first) return;
    std::int64_t& end_ns = ends_ns[static_cast<std::size_t>(after - first) - 1];
    end_ns = std::max(end_ns, work.end_ns);
  };
  for (const auto& kernel : timeline.kernels) add(kernel);
  for (const auto& transfer : timeline.transfers) add(transfer);
  std::vector<std::int64_t> distances_ns;
  for (std::size_t i = 1; i < ends_ns.size(); ++i) {
    if (ends_ns[i - 1] != kNothing && ends_ns[i] != kNothing) distances_ns.push_back(ends_ns[i] - ends_ns[i - 1]);
  }
  return median(std::move(distances_ns));
}

}  // namespace turnpike::analyze
