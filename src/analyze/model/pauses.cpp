#include "analyze/model/pauses.h"

#include <algorithm>

#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kMedians = 3;
constexpr std::ptrdiff_t kAtMostOneIn = 10;

}  // namespace

std::vector<bool> find_pauses(std::span<const std::int64_t> steps_ns) {
  std::vector<bool> is_pause(steps_ns.size(), false);
  const auto usual_ns = median(std::vector(steps_ns.begin(), steps_ns.end()));
  if (!usual_ns || *usual_ns <= 0) return is_pause;
  std::transform(steps_ns.begin(), steps_ns.end(), is_pause.begin(),
                 [&](std::int64_t step_ns) { return step_ns > kMedians * *usual_ns; });
  const auto count = std::count(is_pause.begin(), is_pause.end(), true);
  if (kAtMostOneIn * count > static_cast<std::ptrdiff_t>(steps_ns.size())) is_pause.assign(steps_ns.size(), false);
  return is_pause;
}

}  // namespace turnpike::analyze
