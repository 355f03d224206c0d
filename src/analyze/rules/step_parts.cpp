// Takes the sample of the thread that is nearest in time to each call.
#include "analyze/rules/step_parts.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace turnpike::analyze {
namespace {

using trace::SampleRecord;

enum class StepPart : std::uint8_t { kModel, kOptimizer, kOther, kUnknown };

// Samples are a millisecond apart; one farther than this is of something else.
constexpr std::int64_t kNearNs = 5'000'000;

StepPart part_of_phase(std::optional<Phase> phase) {
  if (!phase) return StepPart::kUnknown;
  switch (*phase) {
    case Phase::kForward:
    case Phase::kBackward:
      return StepPart::kModel;
    case Phase::kOptimizer:
      return StepPart::kOptimizer;
    case Phase::kLoader:
    case Phase::kOther:
      return StepPart::kOther;
  }
  return StepPart::kUnknown;
}

// nullptr: none is near.
const SampleRecord* nearest(std::span<const SampleRecord> samples, std::uint32_t thread, std::int64_t time_ns) {
  const auto after = std::lower_bound(
      samples.begin(), samples.end(), std::pair(thread, time_ns),
      [](const SampleRecord& sample, const auto& key) { return std::pair(sample.thread, sample.time_ns) < key; });
  const SampleRecord* best = nullptr;
  const auto offer = [&](const SampleRecord& sample) {
    const auto distance = [&](const SampleRecord& one) { return std::abs(one.time_ns - time_ns); };
    if (sample.thread != thread || distance(sample) > kNearNs) return;
    if (best == nullptr || distance(sample) < distance(*best)) best = &sample;
  };
  if (after != samples.end()) offer(*after);
  if (after != samples.begin()) offer(*std::prev(after));
  return best;
}

std::vector<StepPart> parts_of_calls(const ProcessModel& model) {
  const std::span<const SampleRecord> samples(model.timeline().samples);
  std::vector<StepPart> parts(model.graph().calls.size(), StepPart::kUnknown);
  for (std::uint32_t index = 0; index < parts.size(); ++index) {
    const Call& call = model.call(index);
    if (model.is_autograd_thread(call.thread)) {
      parts[index] = StepPart::kModel;
    } else if (const SampleRecord* sample = nearest(samples, call.thread, call.start_ns)) {
      parts[index] = part_of_phase(model.place_of_stack(sample->stack).phase);
    }
  }
  return parts;
}

}  // namespace

StepCalls calls_by_part(const ProcessModel& model) {
  const std::vector<StepPart> parts = parts_of_calls(model);
  StepCalls calls;
  calls.are_told_apart = !model.timeline().samples.empty();
  for (std::uint32_t call = 0; call < parts.size(); ++call) {
    const bool is_other = parts[call] == StepPart::kOther || parts[call] == StepPart::kOptimizer;
    if (!calls.are_told_apart || !is_other) calls.model.push_back(call);
    if (parts[call] == StepPart::kOptimizer) calls.optimizer.push_back(call);
  }
  return calls;
}

double saving_as_graph_pct(const ProcessModel& model, const Selection& calls) {
  const NamedChange changes[] = {{Change::kGraphLaunch, calls}};
  const auto predicted_ns = predict_step_ns(model, changes);
  return predicted_ns ? 100 * (1 - *predicted_ns / model.measured_step_ns()) : 0;
}

}  // namespace turnpike::analyze
