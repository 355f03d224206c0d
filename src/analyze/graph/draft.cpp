// One value in the place of many, for the lags of a draft's edges.
#include "analyze/graph/draft.h"

#include <numeric>

#include "base/statistics.h"

namespace turnpike::analyze {

void Draft::learn(LagSamples& samples, std::uint32_t call, std::int64_t lag_ns) const {
  const bool has_steps = graph.step_starts_ns.size() >= 3;
  const std::uint32_t step = has_steps ? graph.step_at(start_of_call(call)) : kNone;
  if (step != kNone && graph.is_pause[step]) return;
  samples.all.push_back(lag_ns);
  if (!has_steps || (step != kNone && is_counted(graph, step))) samples.of_counted_steps.push_back(lag_ns);
}

std::int64_t usual_or(const LagSamples& samples, std::int64_t otherwise, Lags lags) {
  if (samples.all.empty()) return otherwise;
  if (lags == Lags::kMeasured) return median(samples.all).value_or(otherwise);
  const auto& values = samples.of_counted_steps.empty() ? samples.all : samples.of_counted_steps;
  return std::accumulate(values.begin(), values.end(), std::int64_t{0}) / static_cast<std::int64_t>(values.size());
}

}  // namespace turnpike::analyze
