// Chooses the step, re-times the changed graph, and cuts the step out of it.
#include "analyze/whatif/retimed_step.h"

#include <algorithm>
#include <utility>

#include "analyze/graph/edits.h"

namespace turnpike::analyze {
namespace {

using Times = std::span<const std::int64_t>;

std::int64_t length_ns(const Interval& time) {
  return time.end_ns - time.start_ns;
}

bool has_whole_steps(const Graph& graph) {
  return graph.step_starts_ns.size() >= 3;
}

// Where the graph has no whole steps: all of it is one.
Interval work_of_all(Times times_ns) {
  return {0, *std::max_element(times_ns.begin(), times_ns.end())};
}

// From when all work of the step before is done until all of its own is. `done_ns`: completions_ns().
Interval work_of(Times done_ns, std::size_t step) {
  return {step == 0 ? 0 : done_ns[step - 1], done_ns[step]};
}

// The median of the steps that step_ns() takes the mean of.
std::size_t median_step_of(Times done_ns) {
  std::vector<std::pair<std::int64_t, std::size_t>> lengths;
  for (std::size_t step = (done_ns.size() - 1) / 2 + 1; step < done_ns.size(); ++step) {
    lengths.emplace_back(done_ns[step] - done_ns[step - 1], step);
  }
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return middle->second;
}

// Calls are by start.
std::uint32_t first_call_from(const Graph& graph, std::int64_t time_ns) {
  // clang 14 compiles no algorithm of std::ranges over std::views::iota.
  std::uint32_t first = 0;
  for (auto count = static_cast<std::uint32_t>(graph.calls.size()); count > 0;) {
    const std::uint32_t half = count / 2;
    const bool is_before = graph.measured_ns[graph.call_start(first + half)] < time_ns;
    if (is_before) first += half + 1;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

// As work_of(completions_ns()), but nothing is looked at behind the step, and no step of a call is looked up.
Interval work_of_step(const Graph& graph, Times times_ns, std::size_t step) {
  const std::uint32_t first = first_call_from(graph, graph.step_starts_ns[0]);
  const std::uint32_t begin = first_call_from(graph, graph.step_starts_ns[step]);
  const std::uint32_t end = first_call_from(graph, graph.step_starts_ns[step + 1]);
  const auto latest_ns = [&](std::uint32_t from, std::uint32_t to) {
    std::int64_t done_ns = 0;
    for (std::uint32_t call = from; call < to; ++call) done_ns = std::max(done_ns, times_ns[graph.call_end(call)]);
    return done_ns;
  };
  Interval work{latest_ns(first, begin), latest_ns(begin, end)};
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const std::uint32_t call = graph.operations[index].call;
    // None has the largest of all numbers.
    if (call < first || call >= end) continue;
    const std::int64_t done_ns = times_ns[graph.operation_end(index)];
    if (call < begin) {
      work.start_ns = std::max(work.start_ns, done_ns);
    } else {
      work.end_ns = std::max(work.end_ns, done_ns);
    }
  }
  work.end_ns = std::max(work.start_ns, work.end_ns);
  return work;
}

Interval on_clock(const Interval& time, std::int64_t shift_ns) {
  return {time.start_ns + shift_ns, time.end_ns + shift_ns};
}

// What a step asked for, with its times in a re-timed graph.
class Cut {
 public:
  // `step`: of the graph, as recorded. `shift_ns`: from the graph's times to the recording's clock.
  Cut(const Graph& graph, Times times_ns, const Interval& step, std::int64_t shift_ns)
      : graph_(graph), times_ns_(times_ns), step_(step), shift_ns_(shift_ns) {
    first_call_ = first_call_from(graph, step.start_ns);
    end_call_ = first_call_from(graph, step.end_ns);
  }

  std::vector<RetimedStep::Item> calls() const {
    std::vector<RetimedStep::Item> calls;
    for (std::uint32_t call = first_call_; call < end_call_; ++call) {
      const std::uint32_t start = graph_.call_start(call);
      const Interval time = time_at(start);
      const bool is_gone = length_ns(time) == 0 && graph_.measured_ns[start + 1] > graph_.measured_ns[start];
      if (!is_gone) calls.push_back({graph_.calls[call], time});
    }
    return calls;
  }

  void add_operations(RetimedStep& step) const {
    for (std::uint32_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation& operation = graph_.operations[i];
      const std::uint32_t start = graph_.operation_start(i);
      const bool is_of_step =
          operation.call == kNone ? is_inside(start) : operation.call >= first_call_ && operation.call < end_call_;
      if (!is_of_step || is_removed(graph_, i)) continue;
      if (operation.kernel != kNone) step.kernels.push_back({operation.kernel, time_at(start)});
      if (operation.transfer != kNone) step.transfers.push_back({operation.transfer, time_at(start)});
    }
  }

 private:
  bool is_inside(std::uint32_t point) const {
    return graph_.measured_ns[point] >= step_.start_ns && graph_.measured_ns[point] < step_.end_ns;
  }
  // The end of each call and operation is the point behind its start.
  Interval time_at(std::uint32_t start) const { return on_clock({times_ns_[start], times_ns_[start + 1]}, shift_ns_); }

  const Graph& graph_;
  Times times_ns_;
  Interval step_;
  std::int64_t shift_ns_;
  // The calls of the step: calls are by start.
  std::uint32_t first_call_ = 0;
  std::uint32_t end_call_ = 0;
};

}  // namespace

std::optional<ShownStep> shown_step(const ProcessModel& model) {
  const Graph& graph = model.graph();
  if (graph.calls.empty() && graph.operations.empty()) return std::nullopt;
  const auto done_ns = has_whole_steps(graph) ? completions_ns(graph, graph.measured_ns) : std::vector<std::int64_t>();
  const std::size_t step = done_ns.empty() ? 0 : median_step_of(done_ns);
  const Interval work = done_ns.empty() ? work_of_all(graph.measured_ns) : work_of(done_ns, step);
  const std::int64_t base_ns = graph.window.start_ns;
  ShownStep shown{0, graph.window, on_clock(work, base_ns), step};
  if (graph.step_starts_ns.size() < 2) return shown;
  shown.time = on_clock({graph.step_starts_ns[step], graph.step_starts_ns[step + 1]}, base_ns);
  const auto& starts_ns = model.steps()->starts_ns;
  const auto found = std::lower_bound(starts_ns.begin(), starts_ns.end(), shown.time.start_ns);
  shown.index = static_cast<std::size_t>(found - starts_ns.begin());
  return shown;
}

std::optional<RetimedStep> retimed_step(const ProcessModel& model, std::span<const NamedChange> changes) {
  const auto recorded = shown_step(model);
  Scenario scenario(model);
  if (!recorded || !scenario.try_changes(model, changes)) return std::nullopt;
  return retimed_step(*recorded, scenario, pauses_for(model, changes));
}

RetimedStep retimed_step(const ShownStep& shown, const Scenario& scenario, Pauses pauses) {
  const Graph& changed = scenario.graph();
  const Times times_ns = scenario.times_ns();
  const Interval work =
      has_whole_steps(changed) ? work_of_step(changed, times_ns, shown.graph_step) : work_of_all(times_ns);
  const std::int64_t shift_ns = shown.work.start_ns - work.start_ns;
  const Cut cut(changed, times_ns, on_clock(shown.time, -changed.window.start_ns), shift_ns);
  RetimedStep step{.recorded = shown,
                   .predicted_step_ns = scenario.prediction(pauses).predicted_ns,
                   .work = on_clock(work, shift_ns),
                   .calls = cut.calls(),
                   .kernels = {},
                   .transfers = {}};
  cut.add_operations(step);
  return step;
}

}  // namespace turnpike::analyze
