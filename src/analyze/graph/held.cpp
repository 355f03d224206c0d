// Finds the copies of a call, and asks whether they held it.
#include "analyze/graph/held.h"

#include "analyze/model/blocking.h"

namespace turnpike::analyze {

std::vector<const Transfer*> transfers_among(const Timeline& timeline, const Graph& graph,
                                             std::span<const std::uint32_t> operations) {
  std::vector<const Transfer*> transfers;
  for (const std::uint32_t operation : operations) {
    const std::uint32_t transfer = graph.operations[operation].transfer;
    if (transfer != kNone) transfers.push_back(&timeline.transfers[transfer]);
  }
  return transfers;
}

bool is_held_by_its_copies(const Timeline& timeline, const Graph& graph, const Call& call,
                           std::span<const std::uint32_t> operations) {
  const auto transfers = transfers_among(timeline, graph, operations);
  return !transfers.empty() && is_held_by_copy(call, transfers).value_or(false);
}

}  // namespace turnpike::analyze
