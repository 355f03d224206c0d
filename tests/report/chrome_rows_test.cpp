// Slices on the rows of a viewer.
#include "report/chrome_rows.h"

#include <gtest/gtest.h>

namespace turnpike::report {
namespace {

TEST(ChromeRows, NestedCallsShareARow) {
  const RowLanes lanes({{10, 20, 0, 0}, {12, 18, 0, 1}, {20, 25, 0, 2}}, {true});
  EXPECT_EQ(lanes.lane_counts()[0], 1u);
}

TEST(ChromeRows, OverlapWithoutNestingGetsARowOfItsOwn) {
  const RowLanes lanes({{10, 20, 0, 0}, {15, 25, 0, 1}, {25, 30, 0, 2}}, {true});
  EXPECT_EQ(lanes.lane_of(0), 0u);
  EXPECT_EQ(lanes.lane_of(1), 1u);
  EXPECT_EQ(lanes.lane_of(2), 0u);
  EXPECT_EQ(lanes.lane_counts()[0], 2u);
}

TEST(ChromeRows, WorkOnAStreamDoesNotNest) {
  const RowLanes lanes({{10, 20, 0, 0}, {12, 18, 0, 1}, {20, 30, 0, 2}}, {false});
  EXPECT_EQ(lanes.lane_of(1), 1u);
  EXPECT_EQ(lanes.lane_of(2), 0u);
}

TEST(ChromeRows, OfTwoThatStartTogetherTheOuterMustComeFirstInTheFile) {
  EXPECT_EQ(RowLanes({{10, 20, 0, 0}, {10, 15, 0, 1}}, {true}).lane_of(1), 0u);
  EXPECT_EQ(RowLanes({{10, 15, 0, 0}, {10, 20, 0, 1}}, {true}).lane_of(0), 1u);
}

TEST(ChromeRows, TracksDoNotDisturbEachOther) {
  const RowLanes lanes({{10, 20, 0, 0}, {15, 25, 1, 1}}, {true, true});
  EXPECT_EQ(lanes.lane_counts(), (std::vector<std::uint32_t>{1, 1}));
}

}  // namespace
}  // namespace turnpike::report
