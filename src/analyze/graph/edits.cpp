// Finds the edges of what is changed, and sets their lags.
#include "analyze/graph/edits.h"

#include <algorithm>
#include <unordered_set>

namespace turnpike::analyze {
namespace {

bool is_wait(const Edge& edge) {
  return edge.kind == EdgeKind::kWait || edge.kind == EdgeKind::kQueue;
}

// A wait for another stream that the program asked for.
bool is_of_other_stream(const Edge& edge) {
  return edge.kind == EdgeKind::kEvent || edge.kind == EdgeKind::kDefaultStream;
}

// A wait for another thread, or for other processes.
bool is_for_others(const Edge& edge) {
  return edge.kind == EdgeKind::kSignal || edge.kind == EdgeKind::kBatch;
}

bool is_gap(const Edge& edge) {
  return edge.kind == EdgeKind::kProgram || edge.kind == EdgeKind::kHandover;
}

}  // namespace

void remove_operation(Graph& graph, std::uint32_t operation) {
  set_duration(graph, operation, 0);
  for (Edge& edge : graph.edges_to(graph.operation_start(operation))) {
    if (edge.kind == EdgeKind::kStream) {
      edge.lag_ns = 0;
    } else if (!is_of_other_stream(edge)) {  // what it waited for there, the next one waits for
      edge.lag_ns = kRemoved;
    }
  }
}

void remove_call(Graph& graph, std::uint32_t call, bool with_gap) {
  remove_waits(graph, call, 0);
  if (with_gap) set_gap(graph, call, 0);
}

void remove_waits(Graph& graph, std::uint32_t call, std::int64_t own_ns) {
  for (Edge& edge : graph.edges_to(graph.call_end(call))) {
    if (is_wait(edge)) edge.lag_ns = kRemoved;
    if (edge.kind == EdgeKind::kCall) edge.lag_ns = own_ns;
  }
}

bool has_waits(const Graph& graph, std::uint32_t call) {
  const auto edges = graph.edges_to(graph.call_end(call));
  return std::any_of(edges.begin(), edges.end(),
                     [](const Edge& edge) { return is_wait(edge) && edge.lag_ns != kRemoved; });
}

bool is_removed(const Graph& graph, std::uint32_t operation) {
  const auto edges = graph.edges_to(graph.operation_start(operation));
  return std::any_of(edges.begin(), edges.end(),
                     [](const Edge& edge) { return edge.kind == EdgeKind::kLaunch && edge.lag_ns == kRemoved; });
}

std::int64_t duration_ns(const Graph& graph, std::uint32_t operation) {
  for (const Edge& edge : graph.edges_to(graph.operation_end(operation))) {
    if (edge.kind == EdgeKind::kOperation) return edge.lag_ns;
  }
  return 0;
}

void set_duration(Graph& graph, std::uint32_t operation, std::int64_t duration_ns) {
  for (Edge& edge : graph.edges_to(graph.operation_end(operation))) {
    if (edge.kind == EdgeKind::kOperation) edge.lag_ns = duration_ns;
  }
}

void set_gap(Graph& graph, std::uint32_t call, std::int64_t gap_ns) {
  for (Edge& edge : graph.edges_to(graph.call_start(call))) {
    if (is_gap(edge)) edge.lag_ns = gap_ns;
  }
}

std::int64_t gap_ns(const Graph& graph, std::uint32_t call) {
  for (const Edge& edge : graph.edges_to(graph.call_start(call))) {
    if (is_gap(edge)) return edge.lag_ns;
  }
  return 0;
}

std::int64_t pause_ns(const Graph& graph, std::uint32_t call) {
  std::int64_t gap_ns = 0;
  bool has_waited = false;
  for (const Edge& edge : graph.edges_to(graph.call_start(call))) {
    has_waited = has_waited || (is_for_others(edge) && edge.lag_ns != kRemoved);
    if (is_gap(edge)) gap_ns = edge.lag_ns;
  }
  const std::uint32_t before = graph.previous_call[call];
  if (!has_waited || before == kNone) return gap_ns;
  return graph.measured_ns[graph.call_start(call)] - graph.measured_ns[graph.call_end(before)];
}

void end_pause(Graph& graph, std::uint32_t call, std::int64_t gap_ns) {
  for (Edge& edge : graph.edges_to(graph.call_start(call))) {
    if (is_for_others(edge)) edge.lag_ns = kRemoved;
  }
  set_gap(graph, call, gap_ns);
}

void detach_from_stream(Graph& graph, std::uint32_t operation) {
  Operation& moved = graph.operations[operation];
  for (Edge& edge : graph.edges_to(graph.operation_start(operation))) {
    if (edge.kind == EdgeKind::kStream || edge.kind == EdgeKind::kResource || is_of_other_stream(edge)) {
      edge.lag_ns = kRemoved;
    }
  }
  if (moved.after != kNone) {
    for (Edge& edge : graph.edges_to(graph.operation_start(moved.after))) {
      if (edge.kind != EdgeKind::kStream) continue;
      if (moved.before == kNone) {
        edge.lag_ns = kRemoved;
      } else {
        edge.from = graph.operation_end(moved.before);
        edge.lag_ns = std::min(edge.lag_ns, graph.typical.stream);
      }
    }
    graph.operations[moved.after].before = moved.before;
  }
  if (moved.before != kNone) graph.operations[moved.before].after = moved.after;
  for (const std::uint32_t changed : {operation, moved.before, moved.after}) {
    if (changed != kNone) graph.changed_operations.push_back(changed);
  }
  moved.before = kNone;
  moved.after = kNone;
}

void remove_events_from(Graph& graph, std::span<const std::uint32_t> points) {
  const std::unordered_set<std::uint32_t> sources(points.begin(), points.end());
  for (Edge& edge : graph.edges) {
    if (edge.kind != EdgeKind::kEvent || !sources.contains(edge.from)) continue;
    edge.lag_ns = kRemoved;
    graph.changed_points.push_back(edge.to);
  }
}

void restore(Graph& changed, const Graph& original) {
  changed.edges.resize(original.edges.size());
  for (const std::uint32_t point : changed.changed_points) {
    const auto first = static_cast<std::ptrdiff_t>(original.first_edge[point]);
    std::ranges::copy(original.edges_to(point), changed.edges.begin() + first);
  }
  for (const std::uint32_t operation : changed.changed_operations) {
    changed.operations[operation] = original.operations[operation];
  }
  changed.changed_points.clear();
  changed.changed_operations.clear();
}

EditedEdges edited_edges(const Graph& changed, const Graph& original) {
  EditedEdges edits;
  const std::unordered_set<std::uint32_t> points(changed.changed_points.begin(), changed.changed_points.end());
  for (const std::uint32_t point : points) {
    for (std::uint32_t index = original.first_edge[point]; index < original.first_edge[point + 1]; ++index) {
      const Edge& now = changed.edges[index];
      const Edge& before = original.edges[index];
      if (now.from != before.from || now.lag_ns != before.lag_ns) edits.edited.push_back({index, now});
    }
  }
  const auto recorded = static_cast<std::ptrdiff_t>(original.edges.size());
  edits.added.assign(changed.edges.begin() + recorded, changed.edges.end());
  return edits;
}

void make_again(Graph& graph, const EditedEdges& edits) {
  for (const auto& [index, edge] : edits.edited) {
    graph.edges[index] = edge;
    graph.changed_points.push_back(edge.to);
  }
  graph.edges.insert(graph.edges.end(), edits.added.begin(), edits.added.end());
}

void close_up(Graph& graph, std::uint32_t operation, std::int64_t lag_ns) {
  for (Edge& edge : graph.edges_to(graph.operation_start(operation))) {
    if (edge.kind == EdgeKind::kStream && edge.lag_ns != kRemoved) edge.lag_ns = std::min(edge.lag_ns, lag_ns);
  }
}

void launch_from(Graph& graph, std::uint32_t operation, std::uint32_t call) {
  for (Edge& edge : graph.edges_to(graph.operation_start(operation))) {
    if (edge.kind != EdgeKind::kLaunch) continue;
    edge.from = graph.call_start(call);
    edge.lag_ns = std::min(edge.lag_ns, graph.typical.copy_launch);
  }
}

}  // namespace turnpike::analyze
