// Adds up what threads and devices did in the stretch.
#include "analyze/rules/launching.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/model/batch_gaps.h"
#include "analyze/model/intervals.h"
#include "analyze/rules/measure.h"
#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

// With fewer launches there is little to gain from fewer.
constexpr double kFewLaunchesAStep = 8;
constexpr double kMuchIdlePct = 15;
// If kernels start this long after their launch, the CPU is ahead, and launching limits nothing.
constexpr std::int64_t kLongLeadNs = 100'000;
// With less, the host did not launch for most of the time: copies, a loader or something else is the matter.
constexpr double kMuchIssuingPct = 50;
// Beyond this, what the host waits for is the matter, not how fast it launches.
constexpr double kMuchWaitingPct = 50;

LaunchFigures measure_launches(const ProcessModel& model) {
  LaunchFigures launches;
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

}  // namespace

double percent_of_stretch(const ProcessModel& model, std::int64_t part_ns) {
  const Interval& window = model.graph().window;
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(window.end_ns - window.start_ns);
}

std::optional<LaunchFigures> measure_launch_bound(const ProcessModel& model) {
  if (!model.steps()) return std::nullopt;
  LaunchFigures launching = measure_launches(model);
  if (launching.median_lead_ns > kLongLeadNs) return std::nullopt;
  const double a_step = static_cast<double>(launching.count) / static_cast<double>(model.step_count());
  if (a_step < kFewLaunchesAStep) return std::nullopt;
  launching.idle_pct = percent_of_stretch(model, idle_ns(model));
  if (launching.idle_pct < kMuchIdlePct || percent_of_stretch(model, waiting_ns(model)) > kMuchWaitingPct) {
    return std::nullopt;
  }
  launching.threads = measure_issuing(model);
  std::int64_t issuing_ns = 0;
  for (const Issuing& thread : launching.threads) issuing_ns += thread.total_ns();
  if (percent_of_stretch(model, issuing_ns) < kMuchIssuingPct) return std::nullopt;
  return launching;
}

}  // namespace turnpike::analyze
