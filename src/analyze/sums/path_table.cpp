// Keeps each line of a way once below the line before it.
#include "analyze/sums/path_table.h"

#include <algorithm>
#include <utility>

namespace turnpike::analyze {

std::uint32_t PathTable::frame_of(const PathFrame& frame) {
  const auto [entry, is_new] = frames_.try_emplace(frame, static_cast<std::uint32_t>(paths_.frames.size()));
  if (is_new) paths_.frames.push_back(frame);
  return entry->second;
}

std::uint32_t PathTable::node_of(std::span<const std::uint32_t> frames) {
  std::uint32_t node = kNoParent;
  for (const std::uint32_t frame : frames) {
    const std::uint64_t key = std::uint64_t{node} << 32 | frame;
    const auto [entry, is_new] = nodes_.try_emplace(key, static_cast<std::uint32_t>(paths_.nodes.size()));
    if (is_new) paths_.nodes.push_back({.parent = node, .frame = frame});
    node = entry->second;
  }
  return node;
}

std::uint32_t PathTable::row_of(std::uint32_t node, const std::string& what, std::optional<Direction> direction) {
  const auto word = words_.try_emplace(what, static_cast<std::uint32_t>(words_.size())).first->second;
  const Key key{node, word, direction ? static_cast<int>(*direction) : -1};
  const auto [entry, is_new] = rows_.try_emplace(key, static_cast<std::uint32_t>(paths_.costs.size()));
  if (is_new) paths_.costs.push_back({.node = node, .what = what, .direction = direction});
  return entry->second;
}

void PathTable::add(std::uint32_t row, const TransferCost& cost) {
  PathCost& sums = paths_.costs[row];
  sums.count += cost.count;
  sums.bytes += cost.bytes;
  add_known(sums.device_time_ns, cost.device_time_ns);
  add_known(sums.host_blocked_ns, cost.host_blocked_ns);
  add_known(sums.exposed_ns, cost.exposed_ns);
  add_known(sums.gpu_idle_ns, cost.gpu_idle_ns);
}

CallPaths PathTable::take_ranked() {
  CallPaths paths = std::exchange(paths_, {});
  *this = PathTable();
  // A synchronisation that a transfer waited with is counted there.
  std::erase_if(paths.costs, [](const PathCost& cost) { return cost.count == 0; });
  std::stable_sort(paths.costs.begin(), paths.costs.end(), [](const PathCost& a, const PathCost& b) {
    if (a.cost_ns() != b.cost_ns()) return a.cost_ns() > b.cost_ns();
    return a.bytes > b.bytes;
  });
  return paths;
}

}  // namespace turnpike::analyze
