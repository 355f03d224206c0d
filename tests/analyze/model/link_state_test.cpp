// The metadata about links and host memory, as the recorder writes it and as it may be damaged.
#include "analyze/model/link_state.h"

#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

trace::Process with(const std::string& key, const std::string& value) {
  trace::Process process;
  process.metadata[key] = value;
  return process;
}

TEST(LinkState, IsWhatTheRecorderWrote) {
  const LinkState state = link_state_of(
      with("link.1", "from=sysfs generation=3 width=8 max_generation=5 max_width=16 busy_reads=2 nvlinks=18"), 1);
  EXPECT_EQ(state.generation, 3u);
  EXPECT_EQ(state.width, 8u);
  EXPECT_EQ(state.max_generation, 5u);
  EXPECT_EQ(state.max_width, 16u);
  EXPECT_EQ(state.busy_reads, 2u);
}

TEST(LinkState, IsUnknownWithoutTheKeyOrWithOtherWords) {
  for (const auto& process : {with("link.0", "generation=5"), with("link.1", "unknown: no PCIe link at /sys/x"),
                              with("link.1", "generation= width=x max_width=-1 max_generation=5x =7 =")}) {
    const LinkState state = link_state_of(process, 1);
    EXPECT_EQ(state.generation, std::nullopt);
    EXPECT_EQ(state.width, std::nullopt);
    EXPECT_EQ(state.max_generation, std::nullopt);
    EXPECT_EQ(state.max_width, std::nullopt);
    EXPECT_EQ(state.busy_reads, 0u);
  }
}

TEST(HostNodes, AreByAddress) {
  const HostNodes nodes(with("host_memory", "7f0000000000@1 7f0000400000@0"));
  EXPECT_FALSE(nodes.is_empty());
  EXPECT_EQ(nodes.node_of(0x7f0000000000), 1u);
  EXPECT_EQ(nodes.node_of(0x7f0000400000), 0u);
  EXPECT_EQ(nodes.node_of(0x7f0000400001), std::nullopt);
}

TEST(HostNodes, AreNoneWhereTheRecordingKnowsNone) {
  for (const char* text : {"", "one node", "unknown: move_pages: Operation not permitted", "7f00 @1 xyz@1 7f00@"}) {
    EXPECT_TRUE(HostNodes(with("host_memory", text)).is_empty()) << text;
  }
}

}  // namespace
}  // namespace turnpike::analyze
