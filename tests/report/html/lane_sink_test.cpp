#include "report/html/lane_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "report/html/kept_lanes.h"

namespace turnpike::report::html {
namespace {

Event event_started_at(std::int64_t start_ns) {
  return {.start_ns = start_ns};
}

TEST(BlockCutter, EndsABlockWhereItIsFull) {
  KeptLanes kept;
  BlockCutter cutter(kept);
  kept.begin_lane({});
  for (std::size_t i = 0; i <= kMaxBlockEvents; ++i) cutter.add(event_started_at(static_cast<std::int64_t>(i)));
  cutter.end_lane();
  kept.begin_lane({});
  cutter.end_lane();
  EXPECT_THAT(kept.sizes, testing::ElementsAre(kMaxBlockEvents, 1u));
  EXPECT_EQ(kept.lanes[0].events.back().start_ns, static_cast<std::int64_t>(kMaxBlockEvents));
}

TEST(BlockCutter, EndsABlockBeforeAnEventThatIsTooFarAway) {
  KeptLanes kept;
  BlockCutter cutter(kept);
  kept.begin_lane({});
  constexpr std::int64_t kFar = std::int64_t{1} << 32;
  for (const std::int64_t start_ns : {std::int64_t{0}, kFar - 1, 2 * kFar - 1, 2 * kFar})
    cutter.add(event_started_at(start_ns));
  cutter.end_lane();
  EXPECT_THAT(kept.sizes, testing::ElementsAre(2u, 2u));
}

}  // namespace
}  // namespace turnpike::report::html
