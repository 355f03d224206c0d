// The GPU is done with each kernel before the CPU has launched the next one.
#include <algorithm>
#include <map>
#include <utility>

#include "analyze/model/batch_gaps.h"
#include "analyze/model/intervals.h"
#include "analyze/rules/compiling.h"
#include "analyze/rules/measure.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/slow_optimizer.h"
#include "analyze/rules/step_parts.h"
#include "base/statistics.h"
#include "base/units.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// With fewer launches there is little to gain from fewer.
constexpr double kFewLaunchesAStep = 8;
// A kernel that starts so soon after its launch had nothing before it in the queue.
constexpr std::int64_t kNoLeadNs = 10'000;
constexpr double kMuchIdlePct = 15;
// With less, the host did not launch for most of the time: copies, a loader or something else is the matter.
constexpr double kMuchIssuingPct = 50;
// Beyond this, what the host waits for is the matter, not how fast it launches.
constexpr double kMuchWaitingPct = 50;

struct Launches {
  std::size_t count = 0;
  std::int64_t median_kernel_ns = 0;
  std::int64_t median_lead_ns = 0;
};

Launches measure_launches(const ProcessModel& model) {
  Launches launches;
  std::vector<std::int64_t> kernels_ns;
  std::vector<std::int64_t> leads_ns;
  for (const Operation& operation : model.graph().operations) {
    if (operation.kernel == kNone || operation.call == kNone) continue;
    if (model.call(operation.call).kind != CallKind::kLaunch) continue;
    kernels_ns.push_back(operation.end_ns - operation.start_ns);
    leads_ns.push_back(std::max<std::int64_t>(0, operation.start_ns - model.call(operation.call).end_ns));
  }
  launches.count = kernels_ns.size();
  launches.median_kernel_ns = median(std::move(kernels_ns)).value_or(0);
  launches.median_lead_ns = median(std::move(leads_ns)).value_or(0);
  return launches;
}

// Where a thread's time went while it gave the GPU work.
struct Issuing {
  std::int64_t in_calls_ns = 0;
  std::int64_t between_ns = 0;
  bool is_autograd = false;
  std::int64_t total_ns() const { return in_calls_ns + between_ns; }
};

// The one that issues longest first.
std::vector<Issuing> measure_issuing(const ProcessModel& model) {
  const Graph& graph = model.graph();
  std::map<std::uint32_t, Issuing> threads;
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
    const Call& call = model.call(index);
    Issuing& thread = threads[call.thread];
    thread.is_autograd = model.is_autograd_thread(call.thread);
    if (call.kind == CallKind::kSynchronize || is_held(model, index)) continue;
    thread.in_calls_ns += call.duration_ns();
    for (const Edge& edge : graph.edges_to(graph.call_start(index))) {
      const bool is_gap = edge.kind == EdgeKind::kProgram || edge.kind == EdgeKind::kHandover;
      // Longer pauses are no issuing: a loader, a checkpoint.
      if (is_gap && edge.lag_ns <= kQuietNs) thread.between_ns += std::max<std::int64_t>(0, edge.lag_ns);
    }
  }
  std::vector<Issuing> sorted;
  for (const auto& [id, thread] : threads) sorted.push_back(thread);
  std::sort(sorted.begin(), sorted.end(),
            [](const Issuing& a, const Issuing& b) { return a.total_ns() > b.total_ns(); });
  return sorted;
}

double percent_of_stretch(const ProcessModel& model, std::int64_t part_ns) {
  const Interval& window = model.graph().window;
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(window.end_ns - window.start_ns);
}

// Of the device that has most to do.
std::int64_t idle_ns(const ProcessModel& model) {
  const IntervalSet window({model.graph().window});
  std::map<std::uint32_t, std::vector<Interval>> busy;
  for (const Operation& operation : model.graph().operations) {
    busy[operation.device].push_back({operation.start_ns, operation.end_ns});
  }
  std::int64_t least_ns = window.total_ns();
  for (auto& [device, intervals] : busy) {
    least_ns = std::min(least_ns, window.subtract(IntervalSet(std::move(intervals))).total_ns());
  }
  return least_ns;
}

std::int64_t waiting_ns(const ProcessModel& model) {
  std::vector<Interval> waits;
  for (std::uint32_t index = 0; index < model.graph().calls.size(); ++index) {
    const Call& call = model.call(index);
    if (call.kind == CallKind::kSynchronize || is_held(model, index)) waits.push_back({call.start_ns, call.end_ns});
  }
  return IntervalSet(std::move(waits)).total_ns();
}

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

std::string evidence_of(const ProcessModel& model, const Launches& launches, const std::vector<Issuing>& threads,
                        double idle_pct) {
  return "kernels " + times_a_step(model, launches.count) + ", of " +
         time_text(static_cast<double>(launches.median_kernel_ns)) + " each (median), start " +
         time_text(static_cast<double>(launches.median_lead_ns)) + " after their launch (median)" +
         (launches.median_lead_ns < kNoLeadNs ? ": the queue is empty" : "") + ", and the GPU has nothing to do for " +
         rounded_percent_text(idle_pct) + " of the time. Launching is the CPU's work: " + limit_text(model, threads);
}

}  // namespace

void find_launch_bound(const RuleInput& input, std::vector<Candidate>& found) {
  const ProcessModel& model = input.model;
  if (!model.steps()) return;
  const Launches launches = measure_launches(model);
  const double a_step = static_cast<double>(launches.count) / static_cast<double>(model.step_count());
  if (a_step < kFewLaunchesAStep) return;
  const double idle_pct = percent_of_stretch(model, idle_ns(model));
  if (idle_pct < kMuchIdlePct || percent_of_stretch(model, waiting_ns(model)) > kMuchWaitingPct) return;
  const std::vector<Issuing> threads = measure_issuing(model);
  std::int64_t issuing_ns = 0;
  for (const Issuing& thread : threads) issuing_ns += thread.total_ns();
  if (percent_of_stretch(model, issuing_ns) < kMuchIssuingPct) return;
  StepCalls calls = calls_by_part(model);
  const double optimizer_pct = calls.are_told_apart ? saving_as_graph_pct(model, calls.optimizer) : 0;
  find_slow_optimizer(model, calls, optimizer_pct, found);
  auto reach = reach_of_compiling(model, calls);
  if (!reach) return;
  std::string evidence = evidence_of(model, launches, threads, idle_pct);
  if (calls.are_told_apart) {
    evidence += "; launched as one, the model's passes would take " +
                rounded_percent_text(saving_as_graph_pct(model, calls.model)) + " less of a step, the optimizer " +
                rounded_percent_text(optimizer_pct);
  }
  found.push_back({.where = {},
                   .title = "launching work takes longer than the GPU takes for it",
                   .evidence = std::move(evidence),
                   .advice =
                       "Launch less often: model = torch.compile(model, mode=\"reduce-overhead\"). It replays the "
                       "model's passes as CUDA graphs. Or give each launch more to do: a larger batch.",
                   .changes = {{Change::kGraphLaunch, std::move(calls.model)}},
                   .reach = std::move(*reach)});
}

}  // namespace turnpike::analyze
