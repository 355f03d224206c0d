// The GPU is done with each kernel before the CPU has launched the next one.
#include "analyze/rules/launch_bound.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/rules/compiling.h"
#include "analyze/rules/compiling_advice.h"
#include "analyze/rules/launching.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/slow_optimizer.h"
#include "analyze/rules/step_parts.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

// A kernel that starts so soon after its launch had nothing before it in the queue.
constexpr std::int64_t kNoLeadNs = 10'000;

std::string busy_text(const ProcessModel& model, const Issuing& thread) {
  return rounded_percent_text(percent_of_stretch(model, thread.total_ns())) + " of the time (" +
         rounded_percent_text(percent_of_stretch(model, thread.in_calls_ns)) + " in calls to CUDA, the rest in " +
         (thread.is_autograd ? "PyTorch" : "Python and PyTorch") + ")";
}

// `threads`: the one that issues longest first.
std::string limit_text(const ProcessModel& model, const std::vector<Issuing>& threads) {
  const auto find = [&](bool is_autograd) {
    return std::find_if(threads.begin(), threads.end(),
                        [=](const Issuing& thread) { return thread.is_autograd == is_autograd; });
  };
  const auto main = find(false);
  const auto autograd = find(true);
  if (autograd == threads.end()) return "it keeps one thread busy for " + busy_text(model, threads.front());
  std::string text;
  if (main != threads.end()) text = "the main thread for " + busy_text(model, *main) + ", ";
  return "it keeps busy " + text + "autograd's thread, which runs loss.backward(), for " + busy_text(model, *autograd);
}

std::string evidence_of(const ProcessModel& model, const LaunchFigures& launching) {
  return "kernels " + times_a_step(model, launching.count) + ", of " +
         time_text(static_cast<double>(launching.median_kernel_ns)) + " each (median), start " +
         time_text(static_cast<double>(launching.median_lead_ns)) + " after their launch (median)" +
         (launching.median_lead_ns < kNoLeadNs ? ": the queue is empty" : "") + ", and the GPU has nothing to do for " +
         rounded_percent_text(launching.idle_pct) +
         " of the time. Launching is the CPU's work: " + limit_text(model, launching.threads);
}

std::string name_of_passes(const ModelCode& code) {
  if (code.is_module) return "the model's passes";
  return "what " + (code.function ? code.function->name() : "the program's own code") + " launches";
}

std::string parts_text(const ProcessModel& model, const StepCalls& calls, double optimizer_pct) {
  if (!calls.are_told_apart) return "";
  std::string text = "; launched as one, " + name_of_passes(calls.code) + " would take " +
                     rounded_percent_text(saving_as_graph_pct(model, calls.model)) + " less of a step";
  if (!calls.optimizer.empty()) text += ", the optimizer " + rounded_percent_text(optimizer_pct);
  return text;
}

// Of the step as a whole, unless one function is to be changed.
Where place_of_code(const ModelCode& code) {
  Where where{};
  if (!code.function || code.function->first_line == 0) return where;
  where.site = code.function->site();
  where.file = code.function->file;
  where.line = code.function->first_line;
  where.function = code.function->qualified_name;
  return where;
}

}  // namespace

void find_launch_bound(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  const auto launching = measure_launch_bound(model);
  if (!launching) return;
  StepCalls calls = calls_by_part(model);
  const double optimizer_pct = calls.are_told_apart ? saving_as_graph_pct(model, calls.optimizer) : 0;
  find_slow_optimizer(model, calls, optimizer_pct, found);
  Compiling compiling = judge_compiling(model, calls);
  if (!compiling.reach) return;
  std::string evidence = evidence_of(model, *launching) + parts_text(model, calls, optimizer_pct);
  found.push_back({.where = place_of_code(calls.code),
                   .title = "launching work takes longer than the GPU takes for it",
                   .evidence = std::move(evidence),
                   .advice = "Launch less often: " + compiling_advice(model, calls.code) +
                             ". Or give each launch more to do: a larger batch.",
                   .changes = {{Change::kGraphLaunch, std::move(calls.model)}},
                   .reach = std::move(*compiling.reach)});
}

std::optional<std::string> why_not_compiled(const ProcessModel& model) {
  if (!measure_launch_bound(model)) return std::nullopt;
  Compiling compiling = judge_compiling(model, calls_by_part(model));
  return compiling.reach ? std::nullopt : std::optional(std::move(compiling.reason));
}

}  // namespace turnpike::analyze
