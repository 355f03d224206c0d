#include "analyze/model/device_step.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "analyze/model/pauses.h"
#include "base/statistics.h"

namespace turnpike::analyze {

std::optional<std::int64_t> device_step_ns(const Timeline& timeline, const FoundSteps& steps) {
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
  const auto first = std::lower_bound(steps.starts_ns.begin(), steps.starts_ns.end(), steps.window.start_ns);
  std::vector<std::int64_t> ends_ns(static_cast<std::size_t>(steps.starts_ns.end() - first), kNothing);
  auto after = first;  // the start behind the last work's call, and mostly that behind the next one's
  const auto add = [&](const auto& work) {
    if (work.call == kNone || !work.has_times()) return;
    const std::int64_t start_ns = timeline.calls[work.call].start_ns;
    const bool is_of_same_step =
        after != first && *std::prev(after) <= start_ns && (after == steps.starts_ns.end() || start_ns < *after);
    if (!is_of_same_step) after = std::upper_bound(first, steps.starts_ns.end(), start_ns);
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

namespace {

// Where one whole step ends and the next one begins on the host.
std::vector<std::int64_t> bounds_ns(const FoundSteps& steps) {
  const auto first = std::lower_bound(steps.starts_ns.begin(), steps.starts_ns.end(), steps.window.start_ns);
  const auto end = std::lower_bound(first, steps.starts_ns.end(), steps.window.end_ns);
  std::vector<std::int64_t> bounds(first, end);
  if (bounds.empty()) bounds.push_back(steps.window.start_ns);
  bounds.push_back(std::max(steps.window.end_ns, bounds.back()));
  return bounds;
}

// Each bound, or if that is later, when the devices had done what was issued before it.
std::vector<std::int64_t> done_ns(const Timeline& timeline, const std::vector<std::int64_t>& bounds) {
  std::vector<std::int64_t> done = bounds;
  const auto add = [&](const auto& work) {
    if (work.call == kNone || !work.has_times() || !timeline.calls[work.call].has_times()) return;
    const auto next = std::upper_bound(bounds.begin(), bounds.end(), timeline.calls[work.call].start_ns);
    if (next == bounds.end()) return;
    std::int64_t& end_ns = done[static_cast<std::size_t>(next - bounds.begin())];
    end_ns = std::max(end_ns, work.end_ns);
  };
  for (const auto& kernel : timeline.kernels) add(kernel);
  for (const auto& transfer : timeline.transfers) add(transfer);
  std::partial_sum(done.begin(), done.end(), done.begin(), [](auto a, auto b) { return std::max(a, b); });
  return done;
}

}  // namespace

std::vector<Interval> whole_steps(const Timeline& timeline, const FoundSteps& steps) {
  std::vector<std::int64_t> bounds = bounds_ns(steps);
  if (steps.steps.is_host_ahead()) bounds = done_ns(timeline, bounds);
  std::vector<Interval> whole;
  for (std::size_t i = 1; i < bounds.size(); ++i) whole.push_back({bounds[i - 1], bounds[i]});
  return whole;
}

std::vector<Interval> without_pauses(const std::vector<Interval>& steps) {
  std::vector<std::int64_t> steps_ns;
  for (const Interval& step : steps) steps_ns.push_back(step.end_ns - step.start_ns);
  const std::vector<bool> is_pause = find_pauses(steps_ns);
  std::vector<Interval> steady;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_pause[i]) steady.push_back(steps[i]);
  }
  return steady;
}

}  // namespace turnpike::analyze
