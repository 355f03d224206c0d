// Verdicts of steps and of ranges, each looked at alone.
#include "analyze/sums/part_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/model/device_step.h"
#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<Interval> steps_of(std::vector<std::int64_t> starts_ns, const Interval& window) {
  return whole_steps(
      Timeline(),
      {.steps = {}, .starts_ns = std::move(starts_ns), .window = window, .whole_count = 0, .has_warm_up = false});
}

// A kernel from 0 to 95, a copy from 130 to 180, a kernel from 200 to 290.
Activity two_kernels_and_a_copy() {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 95});
  builder.copy({.start_ns = 130, .end_ns = 180});
  builder.kernel({.start_ns = 200, .end_ns = 290});
  return Activity(builder.take().timeline, true);
}

TEST(StepsByBound, CountEachStepOfTheWindow) {
  const Activity activity = two_kernels_and_a_copy();
  const DeviceTimes times(activity, {.sync_waits = {{300, 380}}});
  const auto steps = steps_of({0, 100, 200, 300}, {0, 400});
  EXPECT_THAT(steps_by_bound(times, steps),
              ElementsAre(Pair(Bound::kGpu, 2u), Pair(Bound::kMixed, 1u), Pair(Bound::kSync, 1u)));
}

TEST(StepsByBound, LeaveOutWhatIsNoneOfTheWindow) {
  const Activity activity = two_kernels_and_a_copy();
  const DeviceTimes times(activity, {});
  EXPECT_THAT(steps_by_bound(times, steps_of({0, 100, 200, 300}, {100, 300})),
              ElementsAre(Pair(Bound::kGpu, 1u), Pair(Bound::kMixed, 1u)));
  EXPECT_THAT(steps_by_bound(times, steps_of({0, 100, 200}, {1, 299})),
              ElementsAre(Pair(Bound::kGpu, 1u), Pair(Bound::kMixed, 1u)));
  EXPECT_THAT(steps_by_bound(times, steps_of({200, 200, 300}, {200, 300})), ElementsAre(Pair(Bound::kGpu, 1u)));
  const Activity idle(Timeline(), true);
  EXPECT_THAT(steps_by_bound(DeviceTimes(idle, {}), steps_of({0, 100}, {0, 200})), IsEmpty());
}

TEST(RangeVerdicts, AddUpRangesOfOneName) {
  ProcessBuilder builder;
  builder.range("load 1", 0, 50);
  builder.range("load 2", 100, 180);
  builder.range("save", 200, 400);
  builder.range("train.py:3 tp.to", 0, 1000, "turnpike");
  const LoadedProcess loaded = builder.take();
  const Activity activity = two_kernels_and_a_copy();
  const auto verdicts = range_verdicts(DeviceTimes(activity, {}), loaded.process, loaded.timeline);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].name, "save");
  EXPECT_EQ(verdicts[0].count, 1u);
  EXPECT_EQ(verdicts[0].total_ns, 200);
  EXPECT_DOUBLE_EQ(*verdicts[0].verdict.gpu_busy_pct, 45);
  EXPECT_EQ(verdicts[1].name, "load");
  EXPECT_EQ(verdicts[1].count, 2u);
  EXPECT_EQ(verdicts[1].total_ns, 130);
  EXPECT_DOUBLE_EQ(*verdicts[1].verdict.gpu_busy_pct, 100 * 50 / 130.0);
  EXPECT_DOUBLE_EQ(*verdicts[1].verdict.exposed_transfer_pct, 100 * 50 / 130.0);
  EXPECT_TRUE(verdicts[1].verdict.why.starts_with("While it was open, "));
}

TEST(RangeVerdicts, AreOfTheTwentyNamesWithMostTime) {
  ProcessBuilder builder;
  for (std::int64_t i = 0; i < 21; ++i) builder.range(std::string(1, static_cast<char>('a' + i)), 0, 10 + i);
  const LoadedProcess loaded = builder.take();
  const Activity activity = two_kernels_and_a_copy();
  const auto verdicts = range_verdicts(DeviceTimes(activity, {}), loaded.process, loaded.timeline);
  ASSERT_EQ(verdicts.size(), 20u);
  EXPECT_EQ(verdicts.front().name, "u");
  EXPECT_EQ(verdicts.back().name, "b");
}

}  // namespace
}  // namespace turnpike::analyze
