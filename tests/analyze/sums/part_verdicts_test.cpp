// Verdicts of steps and of ranges, each looked at alone.
#include "analyze/sums/part_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/model/device_step.h"
#include "analyze/process_builder.h"
#include "analyze/sums/process_analysis.h"

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

// A kernel from 0 to 95, a copy from 130 to 180, a kernel from 200 to 290, and a wait from 300 to 380. Nanoseconds.
class TwoKernelsAndACopy {
 public:
  explicit TwoKernelsAndACopy(std::vector<std::pair<std::string, Interval>> ranges = {}) {
    ProcessBuilder builder;
    builder.kernel({.start_ns = 0, .end_ns = 95});
    builder.copy({.start_ns = 130, .end_ns = 180});
    builder.kernel({.start_ns = 200, .end_ns = 290});
    builder.call({.kind = trace::CallKind::kSynchronize, .start_ns = 300, .end_ns = 380, .device = 0});
    for (const auto& [name, time] : ranges) {
      builder.range(name, time.start_ns, time.end_ns, name.find(" tp.") == std::string::npos ? "" : "turnpike");
    }
    loaded_ = builder.take();
    analysis_.emplace(sums_, loaded_.process, loaded_.timeline);
    analysis_->add_to_sums();
    idle_.emplace(analysis_->idle_times({0, 400}));
  }
  DeviceTimes times() { return DeviceTimes(analysis_->activity(), *idle_); }
  const LoadedProcess& loaded() const { return loaded_; }

 private:
  LoadedProcess loaded_;
  RunSums sums_;
  std::optional<ProcessAnalysis> analysis_;
  std::optional<IdleTimes> idle_;
};

TEST(StepsByBound, CountEachStepOfTheWindow) {
  TwoKernelsAndACopy process;
  const DeviceTimes times = process.times();
  const auto steps = steps_of({0, 100, 200, 300}, {0, 400});
  EXPECT_THAT(steps_by_bound(times, steps),
              ElementsAre(Pair(Bound::kGpu, 2u), Pair(Bound::kSync, 1u), Pair(Bound::kTransfer, 1u)));
}

TEST(StepsByBound, LeaveOutWhatIsNoneOfTheWindow) {
  TwoKernelsAndACopy process;
  const DeviceTimes times = process.times();
  EXPECT_THAT(steps_by_bound(times, steps_of({0, 100, 200, 300}, {100, 300})),
              ElementsAre(Pair(Bound::kGpu, 1u), Pair(Bound::kTransfer, 1u)));
  EXPECT_THAT(steps_by_bound(times, steps_of({0, 100, 200}, {1, 299})),
              ElementsAre(Pair(Bound::kGpu, 1u), Pair(Bound::kTransfer, 1u)));
  EXPECT_THAT(steps_by_bound(times, steps_of({200, 200, 300}, {200, 300})), ElementsAre(Pair(Bound::kGpu, 1u)));
  EXPECT_THAT(steps_by_bound(times, steps_of({0}, {0, 0})), IsEmpty());
}

TEST(RangeVerdicts, AddUpRangesOfOneName) {
  TwoKernelsAndACopy process(
      {{"load 1", {0, 50}}, {"load 2", {100, 180}}, {"save", {200, 400}}, {"train.py:3 tp.to", {0, 1000}}});
  const auto verdicts = range_verdicts(process.times(), process.loaded().process, process.loaded().timeline);
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
  std::vector<std::pair<std::string, Interval>> ranges;
  for (std::int64_t i = 0; i < 21; ++i) ranges.push_back({std::string(1, static_cast<char>('a' + i)), {0, 10 + i}});
  TwoKernelsAndACopy process(std::move(ranges));
  const auto verdicts = range_verdicts(process.times(), process.loaded().process, process.loaded().timeline);
  ASSERT_EQ(verdicts.size(), 20u);
  EXPECT_EQ(verdicts.front().name, "u");
  EXPECT_EQ(verdicts.back().name, "b");
}

}  // namespace
}  // namespace turnpike::analyze
