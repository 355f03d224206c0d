// From a timeline to its graph.
#pragma once

#include "analyze/graph/graph.h"
#include "analyze/model/steps.h"
#include "trace/process.h"

namespace turnpike::analyze {

// A stretch of a run: what a graph is made of.
struct Stretch {
  Interval window{0, 0};
  std::vector<std::int64_t> step_starts_ns;  // as in Graph, but on the clock of the recording
};

// So many calls and operations at most: a graph of more says nothing that this one does not.
inline constexpr std::size_t kMaxGraphRecords = 400'000;

// The whole steps in the window of `steps`, or the whole run without steps; as many of the last steps as
// kMaxGraphRecords allows. An empty window when nothing has times.
Stretch choose_stretch(const Timeline& timeline, const std::optional<FoundSteps>& steps);

Graph build_graph(const trace::Process& process, const Timeline& timeline, const Stretch& stretch,
                  Lags lags = Lags::kMeasured);

}  // namespace turnpike::analyze
