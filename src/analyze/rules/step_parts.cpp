// Takes the samples of the thread that are nearest to each call, in its own step and in those that launch the same.
#include "analyze/rules/step_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyze/rules/samples.h"
#include "analyze/whatif/scenario.h"
#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

using trace::SampleRecord;

enum class StepPart : std::uint8_t { kModel, kOptimizer, kOther, kUnknown };

// A sample so far from a launch counts half as much as one beside it: it may be of what comes next.
constexpr double kCloseNs = 10'000;

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

// Looks at each stack once.
class Parts {
 public:
  Parts(const ProcessModel& model, const ModelCode& code) : model_(model), code_(code) {}

  StepPart of_stack(std::uint32_t stack) {
    const auto [entry, is_new] = by_stack_.try_emplace(stack, StepPart::kUnknown);
    if (is_new) {
      const Place& place = model_.place_of_stack(stack);
      entry->second = is_of_model(model_, code_, place, stack) ? StepPart::kModel : part_of_phase(place.phase);
    }
    return entry->second;
  }

 private:
  const ProcessModel& model_;
  const ModelCode& code_;
  std::map<std::uint32_t, StepPart> by_stack_;
};

// The launches of one thread, in the order of time.
struct Launching {
  std::vector<std::uint32_t> launches;
  std::vector<std::uint32_t> ordinals;  // of each in its step
  std::size_t usual_count = 0;          // in the median step
  std::vector<std::uint32_t> step_counts;

  bool is_usual(const ProcessModel& model, std::size_t index) const {
    return step_counts[model.step_of(launches[index])] == usual_count;
  }
};

std::map<std::uint32_t, Launching> launches_by_thread(const ProcessModel& model) {
  std::map<std::uint32_t, Launching> threads;
  for (std::uint32_t index = 0; index < model.graph().calls.size(); ++index) {
    const Call& call = model.call(index);
    if (call.kind != trace::CallKind::kLaunch || model.is_autograd_thread(call.thread)) continue;
    Launching& thread = threads[call.thread];
    const std::uint32_t step = model.step_of(index);
    if (thread.step_counts.size() <= step) thread.step_counts.resize(step + 1);
    thread.launches.push_back(index);
    thread.ordinals.push_back(thread.step_counts[step]++);
  }
  for (auto& [id, thread] : threads) {
    std::vector<std::uint32_t> counts = thread.step_counts;
    std::erase(counts, 0u);
    thread.usual_count = median(std::move(counts)).value_or(0);
  }
  return threads;
}

struct NearLaunch {
  std::size_t index;
  std::int64_t distance_ns;
};

// The launch of a thread that is nearest to a time; nullopt: none is near.
std::optional<NearLaunch> nearest_launch(const ProcessModel& model, const Launching& thread, std::int64_t time_ns) {
  const auto after =
      std::lower_bound(thread.launches.begin(), thread.launches.end(), time_ns,
                       [&](std::uint32_t call, std::int64_t time) { return model.call(call).start_ns < time; });
  std::optional<NearLaunch> best;
  const auto offer = [&](std::vector<std::uint32_t>::const_iterator launch) {
    const Call& call = model.call(*launch);
    const std::int64_t distance_ns = std::max({call.start_ns - time_ns, time_ns - call.end_ns, std::int64_t{0}});
    if (distance_ns > (best ? best->distance_ns : kNearNs)) return;
    best = {static_cast<std::size_t>(launch - thread.launches.begin()), distance_ns};
  };
  if (after != thread.launches.begin()) offer(std::prev(after));
  if (after != thread.launches.end()) offer(after);
  return best;
}

// Steps that launch equally many times launch the same: a sample beside the tenth launch of one step is beside that of
// each. So there are samples everywhere in a step, though few in each. By ordinal; kUnknown: no sample was near.
std::vector<StepPart> parts_of_ordinals(const ProcessModel& model, Parts& known, std::uint32_t id,
                                        const Launching& thread) {
  std::vector<std::map<StepPart, double>> votes(thread.usual_count);
  for (const SampleRecord& sample : model.timeline().samples) {
    if (sample.thread != id || !is_in_stretch(model, sample)) continue;
    const auto launch = nearest_launch(model, thread, sample.time_ns);
    if (!launch || !thread.is_usual(model, launch->index)) continue;
    const double weight = kCloseNs / (kCloseNs + static_cast<double>(launch->distance_ns));
    votes[thread.ordinals[launch->index]][known.of_stack(sample.stack)] += weight;
  }
  std::vector<StepPart> parts(thread.usual_count, StepPart::kUnknown);
  std::vector<std::size_t> seen;
  for (std::size_t ordinal = 0; ordinal < votes.size(); ++ordinal) {
    if (votes[ordinal].empty()) continue;
    seen.push_back(ordinal);
    parts[ordinal] = std::max_element(votes[ordinal].begin(), votes[ordinal].end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  }
  // Between two that are known, each is as the nearer one.
  for (std::size_t ordinal = 0, next = 0; ordinal < parts.size() && !seen.empty(); ++ordinal) {
    while (next + 1 < seen.size() && seen[next + 1] + seen[next] < 2 * ordinal) ++next;
    if (votes[ordinal].empty()) parts[ordinal] = parts[seen[next]];
  }
  return parts;
}

std::vector<StepPart> parts_of_calls(const ProcessModel& model, Parts& known) {
  const std::span<const SampleRecord> samples(model.timeline().samples);
  std::vector<StepPart> parts(model.graph().calls.size(), StepPart::kUnknown);
  for (std::uint32_t index = 0; index < parts.size(); ++index) {
    const Call& call = model.call(index);
    if (model.is_autograd_thread(call.thread)) {
      parts[index] = StepPart::kModel;
    } else if (const SampleRecord* sample = nearest_sample(samples, call.thread, call.start_ns)) {
      parts[index] = known.of_stack(sample->stack);
    }
  }
  for (const auto& [id, thread] : launches_by_thread(model)) {
    const std::vector<StepPart> of_ordinals = parts_of_ordinals(model, known, id, thread);
    for (std::size_t index = 0; index < thread.launches.size(); ++index) {
      if (!thread.is_usual(model, index)) continue;
      const StepPart part = of_ordinals[thread.ordinals[index]];
      if (part != StepPart::kUnknown) parts[thread.launches[index]] = part;
    }
  }
  return parts;
}

}  // namespace

bool is_of_model(const ProcessModel& model, const ModelCode& code, const Place& place, std::uint32_t stack) {
  if (code.is_module) return place.phase == Phase::kForward;
  if (place.phase != Phase::kOther) return false;
  return code.function ? is_on_stack(model, *code.function, stack) : !place.is_of_library;
}

StepCalls calls_by_part(const ProcessModel& model) {
  StepCalls calls;
  calls.are_told_apart = !model.timeline().samples.empty();
  calls.code.is_module = !has_no_modules(model);
  if (!calls.code.is_module) calls.code.function = launching_function(model);
  Parts known(model, calls.code);
  const std::vector<StepPart> parts = parts_of_calls(model, known);
  for (std::uint32_t call = 0; call < parts.size(); ++call) {
    const bool is_other = parts[call] == StepPart::kOther || parts[call] == StepPart::kOptimizer;
    if (!calls.are_told_apart || !is_other) calls.model.push_back(call);
    if (parts[call] == StepPart::kOptimizer) calls.optimizer.push_back(call);
  }
  return calls;
}

double saving_as_graph_pct(const ProcessModel& model, const Selection& calls) {
  const NamedChange changes[] = {{Change::kGraphLaunch, calls}};
  const auto prediction = predict(model, changes);
  return prediction ? prediction->saving_pct() : 0;
}

}  // namespace turnpike::analyze
