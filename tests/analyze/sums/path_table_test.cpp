// What is summed up for each way.
#include "analyze/sums/path_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PathFrame frame(std::string site) {
  return {.site = std::move(site), .library = {}, .file = {}, .function = {}};
}

std::uint32_t node_of(PathTable& table, const std::vector<std::string>& sites) {
  std::vector<std::uint32_t> frames;
  for (const std::string& site : sites) frames.push_back(table.frame_of(frame(site)));
  return table.node_of(frames);
}

std::vector<std::string> sites_of(const CallPaths& paths, const PathCost& cost) {
  std::vector<std::string> sites;
  for (const std::uint32_t node : way_to(paths, cost.node)) sites.push_back(paths.frames[paths.nodes[node].frame].site);
  return sites;
}

TEST(PathTable, WaysShareWhatTheyHaveInCommon) {
  PathTable table;
  const auto first = node_of(table, {"main.py:1", "a.py:2"});
  const auto second = node_of(table, {"main.py:1", "b.py:3"});
  const auto again = node_of(table, {"main.py:1", "a.py:2"});
  EXPECT_NE(first, second);
  EXPECT_EQ(first, again);
  EXPECT_EQ(table.node_of({}), kNoParent);
  table.add(table.row_of(first, "aten::to", Direction::kHostToDevice), {.bytes = 10, .host_blocked_ns = 5});
  table.add(table.row_of(second, "aten::to", Direction::kHostToDevice), {.bytes = 20, .host_blocked_ns = 7});
  const CallPaths paths = table.take_ranked();
  EXPECT_EQ(paths.frames.size(), 3u);
  EXPECT_EQ(paths.nodes.size(), 3u);
  ASSERT_EQ(paths.costs.size(), 2u);
  EXPECT_THAT(sites_of(paths, paths.costs[0]), ElementsAre("main.py:1", "b.py:3"));
  EXPECT_THAT(sites_of(paths, paths.costs[1]), ElementsAre("main.py:1", "a.py:2"));
  EXPECT_THAT(way_to(paths, kNoParent), IsEmpty());
}

TEST(PathTable, OperatorsAndDirectionsAreRowsOfTheirOwn) {
  PathTable table;
  const auto node = node_of(table, {"main.py:1"});
  const auto up = table.row_of(node, "aten::to", Direction::kHostToDevice);
  EXPECT_EQ(table.row_of(node, "aten::to", Direction::kHostToDevice), up);
  EXPECT_NE(table.row_of(node, "aten::to", Direction::kDeviceToHost), up);
  EXPECT_NE(table.row_of(node, "aten::to", std::nullopt), up);
  EXPECT_NE(table.row_of(node, "aten::item", Direction::kHostToDevice), up);
  EXPECT_NE(table.row_of(kNoParent, "aten::to", Direction::kHostToDevice), up);
}

TEST(PathTable, SumsUpAndLeavesOutWhatWasNeverAdded) {
  PathTable table;
  const auto node = node_of(table, {"main.py:1"});
  const auto row = table.row_of(node, "aten::to", Direction::kHostToDevice);
  table.row_of(node, "cudaStreamSynchronize", std::nullopt);
  table.add(row, {.count = 2, .bytes = 100, .device_time_ns = 30, .host_blocked_ns = 40, .exposed_ns = 20});
  table.add(row, {.count = 1, .bytes = 50, .device_time_ns = 3, .gpu_idle_ns = 8});
  const CallPaths paths = table.take_ranked();
  ASSERT_EQ(paths.costs.size(), 1u);
  const PathCost& cost = paths.costs[0];
  EXPECT_EQ(cost.count, 3u);
  EXPECT_EQ(cost.bytes, 150u);
  EXPECT_EQ(cost.device_time_ns, 33);
  EXPECT_EQ(cost.host_blocked_ns, 40);
  EXPECT_EQ(cost.exposed_ns, 20);
  EXPECT_EQ(cost.gpu_idle_ns, 8);
  EXPECT_EQ(cost.cost_ns(), 60);
  EXPECT_THAT(table.take_ranked().costs, IsEmpty()) << "taken";
}

}  // namespace
}  // namespace turnpike::analyze
