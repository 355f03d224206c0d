// Slices on the rows of a viewer.
#include "report/chrome/rows.h"

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

TEST(ChromeRows, WhatEndsTogetherNests) {
  EXPECT_EQ(RowLanes({{10, 20, 0, 0}, {15, 20, 0, 1}}, {true}).lane_of(1), 0u);
  EXPECT_EQ(RowLanes({{10, 20, 0, 0}, {15, 21, 0, 1}}, {true}).lane_of(1), 1u);
  EXPECT_EQ(RowLanes({{10, 20, 0, 0}, {10, 20, 0, 1}}, {true}).lane_of(1), 0u);
}

TEST(ChromeRows, AreInTheOrderOfTimeNotOfTheFile) {
  const RowLanes lanes({{30, 40, 0, 0}, {10, 35, 0, 1}, {50, 60, 1, 2}}, {false, false});
  EXPECT_EQ(lanes.lane_of(1), 0u) << "it starts first";
  EXPECT_EQ(lanes.lane_of(0), 1u);
  EXPECT_EQ(lanes.lane_of(2), 0u) << "a track of its own";
  EXPECT_EQ(lanes.lane_counts(), (std::vector<std::uint32_t>{2, 1}));
}

TEST(ChromeRows, ATrackWithoutSlicesHasALane) {
  EXPECT_EQ(RowLanes({}, {true, false}).lane_counts(), (std::vector<std::uint32_t>{1, 1}));
}

// 65 that overlap, the one of `ended` being over when another comes.
std::uint32_t lane_after(std::uint32_t ended) {
  std::vector<RowItem> items;
  for (std::uint32_t i = 0; i < 65; ++i) items.push_back({i, i == ended ? 100 : 1'000, 0, i});
  items.push_back({100, 110, 0, 65});
  return RowLanes(items, {false}).lane_of(65);
}

TEST(ChromeRows, OnlySoManyLanesAreTried) {
  EXPECT_EQ(lane_after(0), 0u);
  EXPECT_EQ(lane_after(63), 63u);
  EXPECT_EQ(lane_after(64), 65u) << "the 65th lane is free, but it is not looked at";
}

TEST(ChromeRows, ANewTrackStartsWithAnEmptyLane) {
  const RowLanes lanes({{10, 20, 0, 0}, {10, 20, 1, 1}, {15, 25, 1, 2}, {15, 25, 2, 3}}, {false, false, false});
  EXPECT_EQ(lanes.lane_counts(), (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(lanes.lane_of(2), 1u);
}

}  // namespace
}  // namespace turnpike::report
