// Which steps are slow.
#include "record/collect/step_watch.h"

#include <gtest/gtest.h>

#include "durations.h"
#include "trace/make_record.h"

namespace turnpike::record {
namespace {

class StepWatchTest : public testing::Test {
 protected:
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

  StepWatch watch_{*trigger_of("step > 2 x median")};
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
  watch_ = StepWatch(*trigger_of("step > 15 ms"));
  range("step", 15);
  EXPECT_EQ(why(), "");
  range("step", 16);
  EXPECT_EQ(why(), "a step (step) took 16.0 ms, the median of the 1 before it is 15.0 ms (step > 15 ms)");
}

TEST_F(StepWatchTest, MayFindTheFirstStepSlow) {
  watch_ = StepWatch(*trigger_of("step > 15 ms"));
  range("step", 16);
  EXPECT_EQ(why(), "the first step (step) took 16.0 ms (step > 15 ms)");
  watch_ = StepWatch(*trigger_of("step > 15 ms"));
  range(std::string(100, 's').c_str(), 16);
  EXPECT_EQ(why(), "the first step (" + std::string(80, 's') + ") took 16.0 ms (step > 15 ms)");
}

TEST_F(StepWatchTest, TakesTheMedianOfTheNewestSteps) {
  for (int i = 0; i < 200; ++i) range("step", 10);
  for (int i = 0; i < 50; ++i) range("step", 100);
  why();
  range("step", 30);  // the 51st that is not 10
  EXPECT_EQ(why(), "a step (step) took 30.0 ms, the median of the 101 before it is 10.0 ms (step > 2 x median)");
  range("step", 60);
  EXPECT_EQ(why(), "") << "now the median is 30";
}

TEST_F(StepWatchTest, TakesNoRangeWithoutATimeForAStep) {
  for (int i = 0; i < 10; ++i) range("step", 0);
  for (int i = 0; i < 9; ++i) range("step", 10);
  range("step", 100);
  EXPECT_EQ(why(), "") << "there are nine before it";
}

TEST_F(StepWatchTest, FollowsSixteenNames) {
  watch_ = StepWatch(*trigger_of("step > 15 ms"));
  for (int i = 0; i < 16; ++i) range(("step of model " + std::to_string(i)).c_str(), 1);
  range("one step more", 20);
  EXPECT_EQ(why(), "");
  range("step of model 15", 20);
  EXPECT_NE(why(), "");
}

TEST_F(StepWatchTest, BelievesThatARangeIsAroundAnotherOnceThereAreThree) {
  watch_ = StepWatch(*trigger_of("step > 25 ms"));
  for (int i = 0; i < 5; ++i) range("step", 10);
  for (int i = 0; i < 2; ++i) range("outer_step", 20);
  range("step", 30);
  EXPECT_NE(why(), "");
  range("outer_step", 20);
  range("step", 30);
  EXPECT_EQ(why(), "");
  range("outer_step", 40);
  EXPECT_NE(why(), "");
}

TEST_F(StepWatchTest, ABackwardPassBeginsBehindAForwardOne) {
  using trace::AutogradRole;
  using trace::CallKind;
  watch_ = StepWatch(*trigger_of("step > 100 ms"));
  const auto ends_a_pass = [&](AutogradRole role, CallKind kind, std::uint64_t sequence = 0) {
    call(AutogradRole::kBackward, CallKind::kLaunch, 1);
    why();
    auto record = trace::make_record<trace::CallRecord>(trace::RecordKind::kCall);
    record.autograd_role = role;
    record.kind = kind;
    record.autograd_sequence = sequence;
    watch_.note_call(record);
    call(AutogradRole::kBackward, CallKind::kLaunch, 200);
    const bool is_next_pass = !why().empty();
    call(AutogradRole::kForward, CallKind::kLaunch, 1);
    return is_next_pass;
  };
  call(AutogradRole::kBackward, CallKind::kLaunch, 1);
  call(AutogradRole::kForward, CallKind::kLaunch, 1);
  EXPECT_FALSE(ends_a_pass(AutogradRole::kBackward, CallKind::kLaunch));
  EXPECT_TRUE(ends_a_pass(AutogradRole::kForward, CallKind::kLaunch));
  EXPECT_TRUE(ends_a_pass(AutogradRole::kForward, CallKind::kGraphLaunch));
  EXPECT_TRUE(ends_a_pass(AutogradRole::kForward, CallKind::kCopy, 7)) << "of a node of the graph";
  EXPECT_FALSE(ends_a_pass(AutogradRole::kForward, CallKind::kCopy)) << "before the graph begins";
  EXPECT_FALSE(ends_a_pass(AutogradRole::kForward, CallKind::kSynchronize, 7));
  EXPECT_FALSE(ends_a_pass(AutogradRole::kUnknown, CallKind::kLaunch));
}

TEST_F(StepWatchTest, NeedsATrigger) {
  watch_ = StepWatch(Trigger());
  for (int i = 0; i < 20; ++i) range("step", 10);
  range("step", 1000);
  EXPECT_EQ(why(), "");
}

}  // namespace
}  // namespace turnpike::record
