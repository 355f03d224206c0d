// Which steps are slow.
#include "record/collect/step_watch.h"

#include <gtest/gtest.h>

#include "durations.h"
#include "trace/make_record.h"

namespace turnpike::record {
namespace {

class StepWatchTest : public testing::Test {
 protected:
  explicit StepWatchTest() { watch_.restart(*trigger_of("step > 2 x median")); }

  void range(const char* name, std::int64_t duration_ms) {
    auto record = trace::make_record<trace::RangeRecord>(trace::RecordKind::kRange);
    record.start_ns = now_ns_;
    record.end_ns = now_ns_ += duration_ms * kMs;
    watch_.note_step_range(name, record);
  }
  void call(trace::AutogradRole role, trace::CallKind kind, std::int64_t after_ms) {
    auto record = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
    record.start_ns = now_ns_ += after_ms * kMs;
    record.end_ns = record.start_ns + 1;
    record.autograd_role = role;
    record.kind = kind;
    watch_.note_call(record);
  }
  void pass(std::int64_t step_ms) {
    call(trace::AutogradRole::kForward, trace::CallKind::kLaunch, step_ms / 2);
    call(trace::AutogradRole::kBackward, trace::CallKind::kLaunch, step_ms - step_ms / 2);
    call(trace::AutogradRole::kBackward, trace::CallKind::kLaunch, 0);
  }
  std::string why() { return watch_.take_reason().value_or(""); }

  StepWatch watch_;
  std::int64_t now_ns_ = 1000 * kMs;
};

TEST_F(StepWatchTest, JudgesNoStepBeforeThereIsAMedian) {
  range("step", 100);
  for (int i = 0; i < 8; ++i) range("step", 10);
  range("step", 90);
  EXPECT_EQ(why(), "");
  range("step", 21);
  EXPECT_EQ(why(), "a step (step) took 21.0 ms, the median of the 10 before it is 10.0 ms (step > 2 x median)");
  EXPECT_EQ(why(), "") << "once";
}

TEST_F(StepWatchTest, NamesTheSlowest) {
  for (int i = 0; i < 20; ++i) range("step", 10);
  range("step", 30);
  range("step", 50);
  range("step", 40);
  EXPECT_EQ(why().substr(0, 26), "a step (step) took 50.0 ms");
  range("step", 20);
  EXPECT_EQ(why(), "") << "not above it";
}

TEST_F(StepWatchTest, FollowsTheProgram) {
  for (int i = 0; i < 20; ++i) range("step", 10);
  for (int i = 0; i < 60; ++i) range("step", 100);
  EXPECT_NE(why(), "");
  for (int i = 0; i < 60; ++i) range("step", 100);
  why();
  range("step", 150);
  EXPECT_EQ(why(), "") << "100 ms is the median by now";
}

TEST_F(StepWatchTest, JudgesTheOutermostRangesAlone) {
  for (int i = 0; i < 20; ++i) {
    range("inner_step", 2);
    range("step", 10);
  }
  range("inner_step", 8);
  EXPECT_EQ(why(), "");
  range("step", 30);
  EXPECT_NE(why(), "");
}

TEST_F(StepWatchTest, TakesBackwardPassesWhereThereAreNoRanges) {
  for (int i = 0; i < 15; ++i) pass(10);
  EXPECT_EQ(why(), "");
  pass(30);
  EXPECT_EQ(why(),
            "a step (backward pass to backward pass) took 30.0 ms, the median of the 14 before it is 10.0 ms "
            "(step > 2 x median)");
  for (int i = 0; i < 3; ++i) range("step", 10);
  pass(100);
  EXPECT_EQ(why(), "") << "ranges count once there are three";
}

TEST_F(StepWatchTest, KnowsALimitFromTheFirstStepOn) {
  watch_.restart(*trigger_of("step > 15 ms"));
  range("step", 15);
  EXPECT_EQ(why(), "");
  range("step", 16);
  EXPECT_EQ(why(), "a step (step) took 16.0 ms, the median of the 1 before it is 15.0 ms (step > 15 ms)");
}

TEST_F(StepWatchTest, NeedsATrigger) {
  watch_.restart({});
  for (int i = 0; i < 20; ++i) range("step", 10);
  range("step", 1000);
  EXPECT_EQ(why(), "");
}

}  // namespace
}  // namespace turnpike::record
