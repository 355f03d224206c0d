// Whether a call of a graph was held by the copies that it made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/graph/graph.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// The transfers among these operations of the graph.
std::vector<const Transfer*> transfers_among(const Timeline& timeline, const Graph& graph,
                                             std::span<const std::uint32_t> operations);

// `operations`: all that the call asked for. False where it cannot be told.
bool is_held_by_its_copies(const Timeline& timeline, const Graph& graph, const Call& call,
                           std::span<const std::uint32_t> operations);

}  // namespace turnpike::analyze
