// The least that a step can take after a change: the devices must still do the work that the change leaves.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/graph/graph.h"
#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Where the graph lacks a dependency, its re-timing lets work run side by side that cannot. So what ran one after the
// other in the recording counts as if it had to: kernels other than collectives, which also wait, and copies and
// memsets within a device. Copies over the link do not count, since many changes move them beside the kernels.
class LeastStep {
 public:
  // Needs a graph with a measured time for each point.
  LeastStep(const trace::Process& process, const Timeline& timeline, const Graph& graph);

  // Of the device with the most work. `changed`: the graph after edits.
  double of(const Graph& changed, Pauses pauses) const;

 private:
  struct Work {
    std::uint32_t device;
    std::uint32_t operation;
  };
  std::vector<Work> work_;                          // by device
  std::array<std::vector<Interval>, 2> counted_{};  // by Pauses: the steps that step_ns() counts, as measured
};

}  // namespace turnpike::analyze
