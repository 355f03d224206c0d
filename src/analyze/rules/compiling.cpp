// Looks for what torch.compile has done already, and for what ends a captured graph: recurrent layers, values that are
// read back, steps that differ, passes that share an optimizer step.
#include "analyze/rules/compiling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/cost_model.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/model_signs.h"
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
// Of the model: recurrent layers that are less of it end a graph, and leave the rest worth compiling.
constexpr double kMuchRecurrent = 0.1;
// Of the model: fewer kernels of Triton are those of a part (a loss, flex_attention). Of compiled models they are a
// third to a half, beside products of matrices.
constexpr double kMuchCompiled = 0.25;
constexpr double kMostInGraphs = 0.5;

bool reads_back(const ProcessModel& model, std::uint32_t call) {
  const auto& operations = model.operations_of(call);
  return std::any_of(operations.begin(), operations.end(), [&](std::uint32_t index) {
    const Transfer* transfer = model.transfer_of(model.graph().operations[index]);
    return transfer != nullptr && transfer->direction == Direction::kDeviceToHost;
  });
}

// The values that are read back, which end a graph wherever the code stands.
struct Reads {
  std::size_t count = 0;
  double a_step = 0;
  double in_model_a_step = 0;
  std::size_t in_model = 0;
};

Reads count_reads(const ProcessModel& model, const ModelCode& code) {
  std::size_t count = 0;
  std::size_t in_model = 0;
  for (std::uint32_t call = 0; call < model.graph().calls.size(); ++call) {
    const CallKind kind = model.call(call).kind;
    // The synchronisation of a copy counts with the copy; an upload that holds the host reads nothing.
    if (kind != CallKind::kCopy || !is_held(model, call) || !reads_back(model, call)) continue;
    ++count;
    if (is_of_model(model, code, model.facts_of_call(call).place, model.call(call).stack)) ++in_model;
  }
  const auto steps = static_cast<double>(model.step_count());
  return {count, static_cast<double>(count) / steps, static_cast<double>(in_model) / steps, in_model};
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

std::string_view name_of_code(const StepCalls& calls) {
  return calls.code.is_module ? "model" : "function";
}

// "": nothing of the kind.
std::string reason_of_what_is_done(const ProcessModel& model, const StepCalls& calls) {
  const std::string name(name_of_code(calls));
  const bool is_in_graphs = graph_share(model, calls.model) >= kMostInGraphs;
  if (compiled_share(model, calls.model) < kMuchCompiled) {
    return is_in_graphs ? "CUDA graphs launch most of the " + name + "'s kernels already" : "";
  }
  return "the " + name + " is compiled already, " +
         (is_in_graphs ? "and CUDA graphs launch most of its kernels"
                       : "though without CUDA graphs, which mode=\"reduce-overhead\" would add");
}

// "": a graph would hold.
std::string reason_of_broken_graphs(const ProcessModel& model, const StepCalls& calls, const Reads& reads,
                                    double recurrent) {
  if (recurrent >= kMuchRecurrent) {
    return rounded_percent_text(100 * recurrent) + " of the " + std::string(name_of_code(calls)) +
           "'s work is recurrent layers of cuDNN (nn.LSTM, nn.GRU, nn.RNN), and torch.compile leaves these as they "
           "are: each ends a graph";
  }
  if (has_several_passes(model, calls)) {
    return "several passes share one step of the optimizer, and each replay overwrites what the one before returned";
  }
  if (!does_repeat(model)) {
    return "steps differ in their launches, as they do where shapes change, and a graph replays one shape";
  }
  if (is_in_pieces(model, calls, reads)) {
    return "values are read back " + times_a_step(model, reads.count) + ", which would cut the " +
           std::string(name_of_code(calls)) + " into graphs too small to gain";
  }
  return "";
}

}  // namespace

Compiling judge_compiling(const ProcessModel& model, const StepCalls& calls) {
  const Reads reads = count_reads(model, calls.code);
  const double recurrent = recurrent_share(model, calls.model);
  std::string why_not = reason_of_what_is_done(model, calls);
  if (why_not.empty()) why_not = reason_of_broken_graphs(model, calls, reads, recurrent);
  if (!why_not.empty()) return {.reach = std::nullopt, .reason = std::move(why_not)};
  const bool reads_values = reads.in_model_a_step >= 0.5;
  std::string reason = "the compiled " + std::string(name_of_code(calls)) +
                       " replays; the optimizer, the loader and the rest of the loop stay as they are, and so do the "
                       "guards and the copies of inputs; the compiler joins kernels, which may save more";
  if (reads_values) reason += "; it reads a value back " + times_a_step(model, reads.in_model) + ", where a graph ends";
  if (recurrent > 0) reason += "; it has recurrent layers of cuDNN, where a graph ends";
  return {.reach = Reach{.low = reads_values || recurrent > 0 ? kCompiledWithReads : kCompiledAtLeast,
                         .high = kCompiledAtMost,
                         .reason = std::move(reason)},
          .reason = ""};
}

}  // namespace turnpike::analyze
