// What re-timing needs of a process. It outlives the records of the process, so that ranks can be re-timed together
// though their files are read one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "analyze/graph/graph.h"
#include "analyze/graph/least_step.h"
#include "analyze/graph/link_sharing.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

struct RunGraph {
  RunGraph(const trace::Process& process, const Timeline& timeline, Graph graph,
           const std::map<std::uint32_t, Link>& links);

  // What a step takes as measured, and re-timed without any change.
  struct StepTimes {
    double measured_ns = 0;
    double retimed_ns = 0;
  };
  const StepTimes& step(Pauses pauses) const { return steps[static_cast<std::size_t>(pauses)]; }

  Graph graph;
  std::optional<LeastStep> least_step{};  // nullopt: the graph is empty
  LinkSharing sharing{};
  std::array<StepTimes, 2> steps{};  // by Pauses
};

}  // namespace turnpike::analyze
