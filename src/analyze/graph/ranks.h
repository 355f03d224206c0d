// The graphs of several ranks, re-timed together: a collective ends on each of them only after it began on all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyze/graph/graph.h"
#include "analyze/graph/run_graph.h"
#include "analyze/model/collectives.h"

namespace turnpike::analyze {

// A collective that all graphs hold, by graph: its operation, and how long that lasts once the last one has begun.
struct Rendezvous {
  struct Part {
    std::uint32_t operation;
    std::int64_t transfer_ns;
  };
  std::vector<Part> parts;
};

// The meetings whose kernels lie in the stretches of all ranks. The others keep their measured durations.
std::vector<Rendezvous> rendezvous_of(std::span<const Meeting> meetings,
                                      std::span<const std::shared_ptr<const RunGraph>> ranks);

// The time of every point of every graph, each counted from the start of its own window; nullopt: the edges go round in
// a circle. The windows are those of the recordings, on one clock.
std::optional<std::vector<std::vector<std::int64_t>>> retime_together(std::span<const Graph* const> graphs,
                                                                      std::span<const Rendezvous> meetings);

}  // namespace turnpike::analyze
