#include "report/html/lane.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace turnpike::report::html {
namespace {

Event event(std::int64_t start_ns, std::uint64_t duration_ns) {
  Event one;
  one.start_ns = start_ns;
  one.duration_ns = duration_ns;
  return one;
}

void expect_rows(const Depths<Event>& depths) {
  for (const auto& row : depths.rows) {
    for (std::size_t i = 1; i < row.size(); ++i) ASSERT_LE(row[i - 1].end_ns(), row[i].start_ns);
  }
}

TEST(HtmlLane, PutsWhatOverlapsIntoFurtherRows) {
  const Depths<Event> depths = spread(std::vector{event(50, 10), event(0, 100), event(100, 5), event(20, 10)});
  expect_rows(depths);
  ASSERT_EQ(depths.rows.size(), 2u);
  EXPECT_EQ(depths.rows[0].size(), 2u);
  EXPECT_EQ(depths.rows[1].size(), 2u);
  EXPECT_EQ(depths.dropped, 0u);
}

TEST(HtmlLane, TakesTheLongerOfTwoThatStartTogetherFirst) {
  const Depths<Event> depths = spread(std::vector{event(0, 5), event(0, 100)});
  EXPECT_EQ(depths.rows[0][0].duration_ns, 100u);
}

TEST(HtmlLane, LosesNothingAndNeverOverlapsWhateverComes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events;
    const std::size_t count = random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      events.push_back(event(static_cast<std::int64_t>(random() % 100), random() % 20));
    }
    const Depths<Event> depths = spread(events);
    expect_rows(depths);
    std::size_t kept = 0;
    for (const auto& row : depths.rows) kept += row.size();
    ASSERT_EQ(kept + depths.dropped, count);
    ASSERT_EQ(depths.dropped, 0u);
  }
}

TEST(HtmlLane, DropsAndCountsWhatNoRowCanHold) {
  const Depths<Event> depths = spread(std::vector<Event>(kMaxDepth + 3, event(0, 10)));
  expect_rows(depths);
  EXPECT_EQ(depths.rows.size(), kMaxDepth);
  EXPECT_EQ(depths.dropped, 3u);
}

TEST(HtmlLane, LengthsNeverOverflow) {
  EXPECT_EQ(length_ns(5, 3), 0u);
  EXPECT_EQ(length_ns(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace turnpike::report::html
