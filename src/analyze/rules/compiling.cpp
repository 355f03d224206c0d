// Looks for what ends a captured graph: values that are read back, steps that differ, passes that share an optimizer
// step.
#include "analyze/rules/compiling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyze/cost_model.h"
#include "analyze/rules/measure.h"
#include "base/statistics.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// More values read back by the model in each step cut its graph into pieces too small to gain.
constexpr double kFewReadsAStep = 3;
// Graphs of fewer launches, between values that are read back, cost as much as they save (bench/field: rl_actor 4,
// neural_ode 12).
constexpr double kLaunchesOfAGraph = 30;
// A step whose launches differ more from the median's does not repeat what a graph would replay.
constexpr double kSameLaunches = 0.05;
// Of a step: joining kernels that take less than this is not worth a word.
constexpr double kToldShare = 0.01;

bool reads_back(const ProcessModel& model, std::uint32_t call) {
  const auto& operations = model.operations_of(call);
  return std::any_of(operations.begin(), operations.end(), [&](std::uint32_t index) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[index]);
    return transfer != nullptr && transfer->direction == Direction::kDeviceToHost;
  });
}

// The values that are read back, which end a graph wherever the code stands.
struct Reads {
  double a_step = 0;
  double in_model_a_step = 0;  // by the code of modules
  std::size_t in_model = 0;
};

Reads count_reads(const ProcessModel& model) {
  std::size_t count = 0;
  std::size_t in_model = 0;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    const CallKind kind = model.call(call).kind;
    // The synchronisation of a copy counts with the copy; an upload that holds the host reads nothing.
    if (kind != CallKind::kCopy || !is_held(model, call) || !reads_back(model, call)) continue;
    ++count;
    if (model.facts_of_call(call).place.phase == Phase::kForward) ++in_model;
  }
  const auto steps = static_cast<double>(model.step_count());
  return {static_cast<double>(count) / steps, static_cast<double>(in_model) / steps, in_model};
}

// Whether each step launches as much as the next one.
bool does_repeat(const ProcessModel& model) {
  std::map<std::uint32_t, std::int64_t> launches;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    if (model.call(call).kind == CallKind::kLaunch) ++launches[model.step_of(call)];
  }
  std::vector<std::int64_t> counts;
  for (const auto& [step, count] : launches) counts.push_back(count);
  const auto usual = static_cast<double>(median(counts).value_or(0));
  const auto same = std::count_if(counts.begin(), counts.end(), [=](std::int64_t count) {
    return std::abs(static_cast<double>(count) - usual) <= kSameLaunches * usual;
  });
  return 2 * static_cast<std::size_t>(same) > counts.size();
}

template <typename Visit>
void for_kernel_names(const ProcessModel& model, std::uint32_t call, Visit visit) {
  for (const std::uint32_t index : model.operations_of(call)) {
    const std::uint32_t kernel = model.graph().operations[index].kernel;
    if (kernel != kNone) visit(model.timeline().kernels[kernel].name);
  }
}

// Several passes before the optimizer's step: the outputs of one would be overwritten by the next one's replay. Samples
// miss the optimizer in some steps; its kernels tell where it is.
bool has_several_passes(const ProcessModel& model, const StepCalls& calls) {
  std::set<std::uint32_t> names;
  for (const std::uint32_t call : calls.optimizer) {
    for_kernel_names(model, call, [&](std::uint32_t name) { names.insert(name); });
  }
  for (const std::uint32_t call : calls.model) {
    for_kernel_names(model, call, [&](std::uint32_t name) { names.erase(name); });
  }
  if (names.empty()) return false;
  std::set<std::uint32_t> steps;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    for_kernel_names(model, call, [&](std::uint32_t name) {
      if (names.contains(name)) steps.insert(model.step_of(call));
    });
  }
  return 10 * steps.size() < 9 * model.step_count();
}

// Whether so many values are read back between its launches that its graphs would be too small to gain.
bool is_in_pieces(const ProcessModel& model, const StepCalls& calls, const Reads& reads) {
  const double launches = static_cast<double>(calls.model.size()) / static_cast<double>(model.step_count());
  return reads.in_model_a_step >= kFewReadsAStep || launches < kLaunchesOfAGraph * reads.a_step;
}

// Work on one element after the other, and sums: the compiler makes one kernel of many such.
constexpr std::array<std::string_view, 5> kJoined = {"elementwise_kernel", "reduce_kernel", "oftmax", "ayer_norm",
                                                     "ropout"};

bool is_joined(std::string_view kernel) {
  return std::any_of(kJoined.begin(), kJoined.end(),
                     [=](std::string_view part) { return kernel.find(part) != kernel.npos; });
}

// By operation: whether it is a kernel of the model that the compiler joins.
std::vector<bool> joined_operations(const ProcessModel& model, const StepCalls& calls) {
  std::vector<bool> joined(model.graph().operations.size(), false);
  for (const std::uint32_t call : calls.model) {
    for (const std::uint32_t index : model.operations_of(call)) {
      const std::uint32_t kernel = model.graph().operations[index].kernel;
      joined[index] = kernel != kNone && is_joined(model.process().string(model.timeline().kernels[kernel].name));
    }
  }
  return joined;
}

// The device time of a step that joining such kernels saves at most: what is made of a row of them reads and writes as
// much as the longest of the row.
double joined_ns(const ProcessModel& model, const StepCalls& calls) {
  const std::vector<bool> joined = joined_operations(model, calls);
  std::vector<std::int64_t> longest_ns(joined.size(), 0);  // of the row up to each operation
  std::int64_t saved_ns = 0;
  for (std::size_t index = 0; index < joined.size(); ++index) {
    const Operation& operation = model.graph().operations[index];
    if (!joined[index]) continue;
    const std::int64_t duration_ns = operation.end_ns - operation.start_ns;
    const std::int64_t before_ns = operation.before == kNone ? 0 : longest_ns[operation.before];
    longest_ns[index] = std::max(before_ns, duration_ns);
    saved_ns += std::min(before_ns, duration_ns);
  }
  return static_cast<double>(saved_ns) / static_cast<double>(model.step_count());
}

}  // namespace

std::optional<Reach> reach_of_compiling(const ProcessModel& model, const StepCalls& calls) {
  const Reads reads = count_reads(model);
  if (is_in_pieces(model, calls, reads) || !does_repeat(model) || has_several_passes(model, calls)) return std::nullopt;
  const bool is_broken = reads.in_model_a_step >= 0.5;
  std::string reason =
      "the compiled model replays; the optimizer, the loader and the rest of the loop stay as they are, and so do its "
      "guards and the copies of its inputs";
  if (is_broken) reason += "; it reads a value back " + times_a_step(model, reads.in_model) + ", where a graph ends";
  const double may_join_ns = joined_ns(model, calls);
  if (may_join_ns >= kToldShare * model.measured_step_ns()) {
    reason += "; besides, its compiler joins kernels, which saves at most " + time_text(may_join_ns) + " a step";
  }
  return Reach{.low = is_broken ? kCompiledWithReads : kCompiledAtLeast,
               .high = 1,
               .adds_ns = may_join_ns,
               .reason = std::move(reason)};
}

}  // namespace turnpike::analyze
