// One value in the place of many, for the lags of a draft's edges.
#include "analyze/graph/draft.h"

#include <algorithm>
#include <numeric>

#include "analyze/model/thread_samples.h"
#include "base/statistics.h"

namespace turnpike::analyze {

std::span<const trace::SampleRecord> Draft::samples_before(std::uint32_t index) const {
  return samples_in(timeline, call(index).thread, {call(graph.previous_call[index]).end_ns, call(index).start_ns});
}

bool Draft::is_of_counted_step(std::uint32_t call) const {
  if (graph.step_starts_ns.size() < 3) return true;
  const std::uint32_t step = graph.step_at(start_of_call(call));
  return step != kNone && is_counted(graph, step);
}

void Draft::learn(LagSamples& samples, std::uint32_t call, std::int64_t lag_ns) const {
  const std::uint32_t step = graph.step_starts_ns.size() < 3 ? kNone : graph.step_at(start_of_call(call));
  if (step != kNone && graph.is_pause[step]) return;
  samples.all.push_back(lag_ns);
  if (is_of_counted_step(call)) samples.of_counted_steps.push_back(lag_ns);
}

void Draft::learn_limit(LagSamples& samples, std::uint32_t call, std::int64_t limit_ns) const {
  if (is_of_counted_step(call)) samples.limit_ns = std::min(samples.limit_ns, limit_ns);
}

std::int64_t usual_or(const LagSamples& samples, std::int64_t otherwise, Lags lags) {
  if (samples.all.empty()) return otherwise;
  if (lags == Lags::kMeasured) return median(samples.all).value_or(otherwise);
  const bool is_of_others = samples.of_counted_steps.empty();
  const auto& values = is_of_others ? samples.all : samples.of_counted_steps;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t mean_ns = std::accumulate(values.begin(), values.end(), std::int64_t{0}) / count;
  return is_of_others ? std::min(mean_ns, samples.limit_ns) : mean_ns;
}

}  // namespace turnpike::analyze
