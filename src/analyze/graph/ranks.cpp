// Puts the graphs into one, with edges between them.
#include "analyze/graph/ranks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace turnpike::analyze {
namespace {

// Where the points of each graph lie in the one of all. They share the origin; its time is that of the first window.
struct Layout {
  explicit Layout(std::span<const Graph* const> graphs) {
    first_ns = graphs.front()->window.start_ns;
    for (const Graph* graph : graphs) first_ns = std::min(first_ns, graph->window.start_ns);
    std::uint32_t next = 0;
    for (const Graph* graph : graphs) {
      bases.push_back(next);
      offsets_ns.push_back(graph->window.start_ns - first_ns);
      next += static_cast<std::uint32_t>(graph->point_count() - 1);
    }
  }

  std::uint32_t at(std::size_t graph, std::uint32_t point) const {
    return point == Graph::kOriginPoint ? Graph::kOriginPoint : bases[graph] + point;
  }

  std::int64_t first_ns = 0;
  std::vector<std::uint32_t> bases;
  std::vector<std::int64_t> offsets_ns;
};

// The edges of one graph, but those of its collectives' durations.
void add_edges(Graph& all, const Layout& layout, const Graph& graph, std::size_t index,
               const std::unordered_map<std::uint32_t, std::int64_t>& transfers) {
  for (const Edge& edge : graph.edges) {
    if (edge.lag_ns == kRemoved) continue;
    if (edge.kind == EdgeKind::kOperation && transfers.contains(edge.to)) continue;
    const std::int64_t offset_ns = edge.from == Graph::kOriginPoint ? layout.offsets_ns[index] : 0;
    all.edges.push_back({layout.at(index, edge.from), layout.at(index, edge.to), edge.lag_ns + offset_ns, edge.kind});
  }
}

// Through a point of the meeting's own, at which all have come: edges from each rank to each would be as many as the
// square of the ranks.
void add_meeting(Graph& all, const Layout& layout, std::span<const Graph* const> graphs, const Rendezvous& meeting) {
  const auto all_are_there = static_cast<std::uint32_t>(all.point_count());
  all.operations.emplace_back();
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    const auto& [operation, transfer_ns] = meeting.parts[rank];
    all.edges.push_back(
        {layout.at(rank, graphs[rank]->operation_start(operation)), all_are_there, 0, EdgeKind::kOperation});
    all.edges.push_back(
        {all_are_there, layout.at(rank, graphs[rank]->operation_end(operation)), transfer_ns, EdgeKind::kOperation});
  }
}

}  // namespace

std::vector<Rendezvous> rendezvous_of(std::span<const Meeting> meetings,
                                      std::span<const std::shared_ptr<const RunGraph>> ranks) {
  std::vector<std::unordered_map<std::uint32_t, std::uint32_t>> operation_of_kernel(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size() && !meetings.empty(); ++rank) {
    const auto& operations = ranks[rank]->graph.operations;
    for (std::uint32_t index = 0; index < operations.size(); ++index) {
      if (operations[index].kernel != kNone) operation_of_kernel[rank][operations[index].kernel] = index;
    }
  }
  std::vector<Rendezvous> found;
  for (const Meeting& meeting : meetings) {
    Rendezvous one;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto operation = operation_of_kernel[rank].find(meeting.kernels[rank].kernel);
      if (operation == operation_of_kernel[rank].end()) break;
      one.parts.push_back({operation->second, meeting.transfer_ns(rank)});
    }
    if (one.parts.size() == ranks.size()) found.push_back(std::move(one));
  }
  return found;
}

std::optional<std::vector<std::vector<std::int64_t>>> retime_together(std::span<const Graph* const> graphs,
                                                                      std::span<const Rendezvous> meetings) {
  const Layout layout(graphs);
  Graph all;  // of its points only the number counts
  for (std::size_t index = 0; index < graphs.size(); ++index) {
    const Graph& graph = *graphs[index];
    all.calls.resize(all.calls.size() + graph.calls.size());
    all.operations.resize(all.operations.size() + graph.operations.size());
    std::unordered_map<std::uint32_t, std::int64_t> transfers;  // by the point at which a collective ends
    for (const Rendezvous& meeting : meetings) {
      const auto& part = meeting.parts[index];
      transfers[graph.operation_end(part.operation)] = part.transfer_ns;
    }
    add_edges(all, layout, graph, index, transfers);
  }
  for (const Rendezvous& meeting : meetings) add_meeting(all, layout, graphs, meeting);
  const auto all_ns = retime(all);
  if (!all_ns) return std::nullopt;
  std::vector<std::vector<std::int64_t>> times_ns;
  for (std::size_t index = 0; index < graphs.size(); ++index) {
    std::vector<std::int64_t>& own_ns = times_ns.emplace_back(graphs[index]->point_count(), 0);
    for (std::uint32_t point = 1; point < own_ns.size(); ++point) {
      // Points that nothing leads to any more stay at the start of their window.
      own_ns[point] = std::max<std::int64_t>((*all_ns)[layout.at(index, point)] - layout.offsets_ns[index], 0);
    }
  }
  return times_ns;
}

}  // namespace turnpike::analyze
