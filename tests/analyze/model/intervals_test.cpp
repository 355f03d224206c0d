// Sets of moments: merging, coverage, and the operations on them, against a bit for each moment.
#include "analyze/model/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IntervalSet, MergesOverlappingAndTouchingIntervalsInAnyOrder) {
  const IntervalSet set({{50, 60}, {10, 20}, {15, 30}, {30, 40}});
  EXPECT_THAT(set.intervals(), ElementsAre(Interval{10, 40}, Interval{50, 60}));
  EXPECT_EQ(set.total_ns(), 40);
}

TEST(IntervalSet, KeepsTheLongerEndOfANestedInterval) {
  EXPECT_THAT(IntervalSet({{0, 100}, {10, 20}}).intervals(), ElementsAre(Interval{0, 100}));
}

TEST(IntervalSet, DropsEmptyAndBackwardIntervals) {
  EXPECT_THAT(IntervalSet({{5, 5}, {9, 3}}).intervals(), IsEmpty());
  EXPECT_EQ(IntervalSet().total_ns(), 0);
}

TEST(IntervalSet, CoversPartsOfIntervals) {
  const IntervalSet set({{10, 20}, {30, 40}});
  EXPECT_EQ(set.covered_ns(0, 50), 20);
  EXPECT_EQ(set.covered_ns(15, 35), 10);
  EXPECT_EQ(set.covered_ns(20, 30), 0);
  EXPECT_EQ(set.covered_ns(12, 14), 2);
  EXPECT_EQ(set.covered_ns(35, 15), 0);
  EXPECT_EQ(IntervalSet().covered_ns(0, 50), 0);
}

constexpr std::size_t kMoments = 64;
using Moments = std::bitset<kMoments>;

Moments moments_of(const std::vector<Interval>& intervals) {
  Moments moments;
  for (const Interval& interval : intervals) {
    for (auto at = interval.start_ns; at < interval.end_ns; ++at) moments.set(static_cast<std::size_t>(at));
  }
  return moments;
}

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> moment(0, kMoments);
  std::vector<Interval> intervals(random() % 8);
  for (Interval& interval : intervals) interval = {moment(random), moment(random)};
  return intervals;
}

TEST(IntervalSet, AgreesWithABitForEachMoment) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto a = random_intervals(random);
    const auto b = random_intervals(random);
    const IntervalSet set_a(a);
    const IntervalSet set_b(b);
    const Moments in_a = moments_of(a);
    const Moments in_b = moments_of(b);
    EXPECT_EQ(moments_of(set_a.unite(set_b).intervals()), in_a | in_b);
    EXPECT_EQ(moments_of(set_a.intersect(set_b).intervals()), in_a & in_b);
    EXPECT_EQ(moments_of(set_a.subtract(set_b).intervals()), in_a & ~in_b);
    EXPECT_EQ(set_a.total_ns(), static_cast<std::int64_t>(in_a.count()));
    for (const Interval& asked : b) {
      EXPECT_EQ(set_a.covered_ns(asked.start_ns, asked.end_ns),
                static_cast<std::int64_t>((in_a & moments_of({asked})).count()));
    }
  }
}

TEST(IntervalSet, TakesOutAPart) {
  const IntervalSet set({{10, 20}, {30, 40}, {50, 60}});
  EXPECT_THAT(set.part(15, 55).intervals(), ElementsAre(Interval{15, 20}, Interval{30, 40}, Interval{50, 55}));
  EXPECT_THAT(set.part(20, 30).intervals(), IsEmpty());
  EXPECT_THAT(set.part(20, 50).intervals(), ElementsAre(Interval{30, 40}));
  EXPECT_THAT(set.part(0, 11).intervals(), ElementsAre(Interval{10, 11}));
  EXPECT_THAT(set.part(59, 99).intervals(), ElementsAre(Interval{59, 60}));
}

}  // namespace
}  // namespace turnpike::analyze
