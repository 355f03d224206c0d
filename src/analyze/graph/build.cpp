// Selects what lies in the stretch, and puts the edges together.
#include "analyze/graph/build.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyze/graph/draft.h"
#include "analyze/model/pauses.h"

namespace turnpike::analyze {
namespace {

template <typename Record>
std::size_t count_between(const std::vector<Record>& records, const Interval& window) {
  const auto at = [&](std::int64_t time_ns) {
    return std::lower_bound(records.begin(), records.end(), time_ns,
                            [](const Record& record, std::int64_t value) { return record.start_ns < value; });
  };
  return static_cast<std::size_t>(at(window.end_ns) - at(window.start_ns));
}

std::size_t count_records(const Timeline& timeline, const Interval& window) {
  return count_between(timeline.calls, window) + count_between(timeline.transfers, window) +
         count_between(timeline.kernels, window);
}

// Whether an operation belongs to the stretch: its call does, or it began there though its call is not of it.
template <typename Record>
bool is_selected(const Draft& draft, const std::vector<std::uint32_t>& index_of_call, const Record& record) {
  if (!record.has_times()) return false;
  if (record.call != kNone && index_of_call[record.call] != kNone) return true;
  return record.start_ns >= draft.graph.window.start_ns && record.start_ns < draft.graph.window.end_ns;
}

std::vector<std::uint32_t> select_calls(Draft& draft) {
  const Interval& window = draft.graph.window;
  std::vector<std::uint32_t> index_of_call(draft.timeline.calls.size(), kNone);
  for (std::uint32_t index = 0; index < draft.timeline.calls.size(); ++index) {
    const Call& call = draft.timeline.calls[index];
    if (!call.has_times() || call.start_ns < window.start_ns || call.start_ns >= window.end_ns) continue;
    index_of_call[index] = static_cast<std::uint32_t>(draft.graph.calls.size());
    draft.graph.calls.push_back(index);
  }
  return index_of_call;
}

void select_operations(Draft& draft, const std::vector<std::uint32_t>& index_of_call) {
  auto& operations = draft.graph.operations;
  const auto call_of = [&](std::uint32_t call) { return call == kNone ? kNone : index_of_call[call]; };
  for (std::uint32_t index = 0; index < draft.timeline.transfers.size(); ++index) {
    const Transfer& transfer = draft.timeline.transfers[index];
    if (transfer.is_migration || transfer.direction == Direction::kHostToHost) continue;
    if (!is_selected(draft, index_of_call, transfer)) continue;
    operations.push_back({index, kNone, call_of(transfer.call), transfer.device, transfer.stream, kNone, kNone,
                          transfer.start_ns, transfer.end_ns});
  }
  for (std::uint32_t index = 0; index < draft.timeline.kernels.size(); ++index) {
    const Kernel& kernel = draft.timeline.kernels[index];
    if (!is_selected(draft, index_of_call, kernel)) continue;
    operations.push_back({kNone, index, call_of(kernel.call), kernel.device, kernel.stream, kNone, kNone,
                          kernel.start_ns, kernel.end_ns});
  }
  std::sort(operations.begin(), operations.end(), [](const Operation& a, const Operation& b) {
    return std::tie(a.start_ns, a.end_ns, a.call) < std::tie(b.start_ns, b.end_ns, b.call);
  });
}

void link_operations(Draft& draft) {
  Graph& graph = draft.graph;
  std::map<StreamKey, std::uint32_t> last_of_stream;
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    Operation& operation = graph.operations[index];
    const auto [last, is_first] = last_of_stream.try_emplace({operation.device, operation.stream}, index);
    if (is_first) continue;
    operation.before = last->second;
    graph.operations[last->second].after = index;
    last->second = index;
  }
}

void measure_points(Draft& draft) {
  Graph& graph = draft.graph;
  const std::int64_t base_ns = graph.window.start_ns;
  graph.measured_ns.assign(graph.point_count(), 0);
  for (std::uint32_t index = 0; index < graph.calls.size(); ++index) {
    graph.measured_ns[graph.call_start(index)] = draft.call(index).start_ns - base_ns;
    graph.measured_ns[graph.call_end(index)] = draft.call(index).end_ns - base_ns;
  }
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    graph.measured_ns[graph.operation_start(index)] = graph.operations[index].start_ns - base_ns;
    graph.measured_ns[graph.operation_end(index)] = graph.operations[index].end_ns - base_ns;
  }
}

// Those that lead to the same point stay in their order.
void sort_edges(Graph& graph) {
  graph.first_edge.assign(graph.point_count() + 1, 0);
  for (const Edge& edge : graph.edges) ++graph.first_edge[edge.to + 1];
  std::partial_sum(graph.first_edge.begin(), graph.first_edge.end(), graph.first_edge.begin());
  std::vector<std::uint32_t> next(graph.first_edge.begin(), graph.first_edge.end() - 1);
  std::vector<Edge> sorted(graph.edges.size());
  for (const Edge& edge : graph.edges) sorted[next[edge.to]++] = edge;
  graph.edges = std::move(sorted);
}

}  // namespace

namespace {

// From the completion of one step to that of the next.
std::vector<std::int64_t> measured_steps_ns(const Graph& graph) {
  std::vector<std::int64_t> steps_ns = completions_ns(graph, graph.measured_ns);
  std::adjacent_difference(steps_ns.begin(), steps_ns.end(), steps_ns.begin());
  return steps_ns;
}

}  // namespace

OperationsByCall::OperationsByCall(const Graph& graph) : first_(graph.calls.size() + 1, 0) {
  for (const Operation& operation : graph.operations) {
    if (operation.call != kNone) ++first_[operation.call + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  operations_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const std::uint32_t call = graph.operations[index].call;
    if (call != kNone) operations_[next[call]++] = index;
  }
}

Stretch choose_stretch(const Timeline& timeline, const std::optional<FoundSteps>& steps) {
  Stretch stretch;
  if (!steps) {
    stretch.window = timeline.span.value_or(Interval{0, 0});
    if (stretch.window.end_ns > stretch.window.start_ns) ++stretch.window.end_ns;  // the last record lies inside
    return stretch;
  }
  for (const std::int64_t start_ns : steps->starts_ns) {
    if (start_ns >= steps->window.start_ns && start_ns < steps->window.end_ns)
      stretch.step_starts_ns.push_back(start_ns);
  }
  stretch.step_starts_ns.push_back(steps->window.end_ns);
  auto first = stretch.step_starts_ns.begin();
  while (stretch.step_starts_ns.end() - first > 2 &&
         count_records(timeline, {*first, steps->window.end_ns}) > kMaxGraphRecords) {
    ++first;
  }
  stretch.step_starts_ns.erase(stretch.step_starts_ns.begin(), first);
  stretch.window = {stretch.step_starts_ns.front(), stretch.step_starts_ns.back()};
  return stretch;
}

Graph build_graph(const trace::Process& process, const Timeline& timeline, const Stretch& stretch, Lags lags) {
  Draft draft{process, timeline, lags, {}, {}, {}};
  draft.graph.window = stretch.window;
  for (const std::int64_t start_ns : stretch.step_starts_ns) {
    draft.graph.step_starts_ns.push_back(start_ns - stretch.window.start_ns);
  }
  select_operations(draft, select_calls(draft));
  link_operations(draft);
  draft.operations_of_call = OperationsByCall(draft.graph);
  measure_points(draft);
  if (draft.graph.step_starts_ns.size() > 1) draft.graph.is_pause = find_pauses(measured_steps_ns(draft.graph));
  // About so many; memory that is not written to costs nothing.
  draft.graph.edges.reserve(2 * draft.graph.point_count());
  add_host_edges(draft);
  add_device_edges(draft);
  add_wait_edges(draft);
  sort_edges(draft.graph);
  draft.graph.order = order_of_points(draft.graph);
  return std::move(draft.graph);
}

}  // namespace turnpike::analyze
