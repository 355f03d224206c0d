// Re-times the graph once as it is.
#include "analyze/graph/run_graph.h"

#include <utility>

namespace turnpike::analyze {

RunGraph::RunGraph(const trace::Process& process, const Timeline& timeline, Graph whole,
                   const std::map<std::uint32_t, Link>& links)
    : graph(std::move(whole)) {
  if (graph.calls.empty() && graph.operations.empty()) return;
  const auto times_ns = retime(graph);
  for (const Pauses pauses : {Pauses::kLeftOut, Pauses::kCounted}) {
    StepTimes& times = steps[static_cast<std::size_t>(pauses)];
    times.measured_ns = step_ns(graph, graph.measured_ns, pauses);
    if (times_ns) times.retimed_ns = step_ns(graph, *times_ns, pauses);
  }
  least_step.emplace(process, timeline, graph);
  sharing = LinkSharing(timeline, graph, links);
}

}  // namespace turnpike::analyze
