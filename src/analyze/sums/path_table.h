// The ways to the transfers and synchronisations of a run while they are summed up, over all processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/report.h"
#include "analyze/sums/site_table.h"

namespace turnpike::analyze {

class PathTable {
 public:
  // What nodes are made of, as an index.
  std::uint32_t frame_of(const PathFrame& frame);
  // The node of the last of these frames, outermost first; kNoParent where there are none.
  std::uint32_t node_of(std::span<const std::uint32_t> frames);
  // The row of what was done there, as an index. `direction`: nullopt for synchronisations.
  std::uint32_t row_of(std::uint32_t node, const std::string& what, std::optional<Direction> direction);
  void add(std::uint32_t row, const TransferCost& cost);
  // Most cost first. Empties the table.
  CallPaths take_ranked();

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, int>;  // node, what, direction

  CallPaths paths_;
  std::map<PathFrame, std::uint32_t> frames_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;  // by parent and frame
  std::map<std::string, std::uint32_t> words_;
  std::map<Key, std::uint32_t> rows_;
};

}  // namespace turnpike::analyze
