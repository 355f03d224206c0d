// The verdict drawn from how the devices spent their time.
#include "analyze/sums/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace turnpike::analyze {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// In the order of the sentence.
DeviceTime time_of(std::int64_t computing, std::int64_t copies_only, std::int64_t copy, std::int64_t sync,
                   std::int64_t input, std::int64_t launch, std::int64_t host) {
  DeviceTime time;
  time.span_ns = computing + copies_only + copy + sync + input + launch + host;
  time.computing_ns = computing;
  time.of(IdleCause::kCopiesOnly) = copies_only;
  time.of(IdleCause::kCopy) = copy;
  time.of(IdleCause::kSync) = sync;
  time.of(IdleCause::kInput) = input;
  time.of(IdleCause::kLaunch) = launch;
  time.of(IdleCause::kUnknown) = host;
  return time;
}

// Computing, and so much of something else.
DeviceTime time_with(std::int64_t computing, IdleCause cause, std::int64_t of_cause) {
  DeviceTime time = time_of(computing, 0, 0, 0, 0, 0, 0);
  time.span_ns += of_cause;
  time.of(cause) = of_cause;
  return time;
}

std::optional<Bound> bound_of(const DeviceTime& time) {
  return judge(time, {}).bound_by;
}

TEST(Verdict, IsTheGpuFromEightyPercentOn) {
  EXPECT_EQ(bound_of(time_of(800, 200, 0, 0, 0, 0, 0)), Bound::kGpu);
  EXPECT_EQ(bound_of(time_of(799, 201, 0, 0, 0, 0, 0)), Bound::kTransfer);
}

TEST(Verdict, IsTheGpuFromSeventyPercentOnUnlessOneCauseTakesAFifth) {
  EXPECT_EQ(bound_of(time_of(70, 0, 0, 19, 11, 0, 0)), Bound::kGpu);
  EXPECT_EQ(bound_of(time_of(70, 0, 0, 20, 10, 0, 0)), Bound::kSync);
  EXPECT_EQ(bound_of(time_of(69, 0, 0, 19, 12, 0, 0)), Bound::kSync);
}

TEST(Verdict, IsTheLargestCause) {
  EXPECT_EQ(bound_of(time_of(40, 20, 15, 25, 0, 0, 0)), Bound::kTransfer);
  EXPECT_EQ(bound_of(time_of(40, 10, 0, 31, 0, 19, 0)), Bound::kSync);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 20, 40, 0)), Bound::kLaunch);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 40, 20, 0)), Bound::kInput);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 16, 22, 13, 9)), Bound::kInput);
}

TEST(Verdict, IsTheFirstOfEqualCauses) {
  EXPECT_EQ(bound_of(time_of(40, 0, 30, 30, 0, 0, 0)), Bound::kTransfer);
}

TEST(Verdict, IsTheHostWhenItMakesNoCallToCuda) {
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 0, 0, 60)), Bound::kHost);
}

// The driver works on the CPU, and the GPU could compute meanwhile.
TEST(Verdict, CountsAllocationsAsWorkOfTheCpu) {
  DeviceTime time = time_of(40, 0, 0, 20, 0, 10, 0);
  time.of(IdleCause::kAllocation) = 30;
  time.span_ns += 30;
  EXPECT_EQ(bound_of(time), Bound::kHost);
}

TEST(Verdict, IsCommunicationWhereOnlyCollectivesRun) {
  DeviceTime time = time_of(60, 0, 0, 0, 0, 10, 0);
  time.collectives_ns = 30;
  time.span_ns += 30;
  EXPECT_EQ(bound_of(time), Bound::kCommunication);
  const Verdict verdict = judge(time, {});
  EXPECT_DOUBLE_EQ(*verdict.gpu_busy_pct, 90);
  EXPECT_DOUBLE_EQ(*verdict.exposed_collective_pct, 30);
  EXPECT_THAT(verdict.why, HasSubstr("the GPU computed for 60.0 % of the time, ran only collectives for 30.0 %, only"));
}

TEST(Verdict, IsUnrecordedWhereTheDeviceWaitsForOtherWork) {
  EXPECT_EQ(bound_of(time_with(40, IdleCause::kUnrecorded, 60)), Bound::kUnrecorded);
}

TEST(Verdict, IsCommunicationWhereTheDeviceWaitsForAnother) {
  const Verdict verdict = judge(time_with(40, IdleCause::kOtherDevice, 60), {});
  EXPECT_EQ(verdict.bound_by, Bound::kCommunication);
  EXPECT_DOUBLE_EQ(verdict.idle->other_devices_pct, 60);
  EXPECT_THAT(verdict.why, HasSubstr("did nothing for 60.0 %: 60.0 % waiting for another GPU."));
}

TEST(Verdict, CountsShortGapsBetweenKernelsAsTheGpus) {
  EXPECT_EQ(bound_of(time_with(60, IdleCause::kBetweenKernels, 40)), Bound::kGpu);
  DeviceTime time = time_with(50, IdleCause::kBetweenKernels, 20);
  time.of(IdleCause::kLaunch) = 30;
  time.span_ns += 30;
  EXPECT_EQ(bound_of(time), Bound::kLaunch);
}

TEST(Verdict, SaysItsNumbers) {
  const Verdict verdict = judge(time_of(400, 100, 50, 250, 20, 130, 50), {.whole_steps = 39, .processes = 1});
  EXPECT_DOUBLE_EQ(*verdict.gpu_busy_pct, 40.0);
  EXPECT_DOUBLE_EQ(*verdict.gpu_idle_pct, 50.0);
  EXPECT_DOUBLE_EQ(*verdict.exposed_transfer_pct, 10.0);
  EXPECT_EQ(verdict.why,
            "Over the 39 whole steps, the GPU computed for 40.0 % of the time, only copied for 10.0 %, and did nothing "
            "for 50.0 %: 5.0 % because of copies, 25.0 % because of synchronisations, 2.0 % while the next batch was "
            "made ready, 13.0 % while the CPU issued work and 5.0 % during other work on the CPU.");
}

TEST(Verdict, LeavesOutWhatDidNotHappen) {
  EXPECT_THAT(judge(time_of(990, 0, 0, 0, 0, 10, 0), {}).why,
              EndsWith("only copied for 0.0 %, and did nothing for 1.0 %: 1.0 % while the CPU issued work."));
  EXPECT_THAT(judge(time_of(1000, 0, 0, 0, 0, 0, 0), {}).why, EndsWith("and did nothing for 0.0 %."));
}

TEST(Verdict, SaysWhatItIsAbout) {
  const DeviceTime time = time_of(1, 1, 1, 1, 1, 1, 1);
  EXPECT_THAT(judge(time, {}).why, StartsWith("From the GPU's first work to its last, the GPU computed "));
  EXPECT_THAT(judge(time, {.whole_steps = 80, .processes = 2}).why,
              StartsWith("Over the 80 whole steps of 2 processes, "));
  EXPECT_THAT(judge(time, {.whole_steps = 38, .processes = 1, .has_warm_up = true}).why,
              StartsWith("Over the 38 whole steps after the warm-up, "));
}

TEST(Verdict, TellsWhatItLeavesOut) {
  const DeviceTime time = time_of(1, 1, 1, 1, 1, 1, 1);
  const auto why = [&](std::int64_t before_ns, std::int64_t after_ns) {
    return judge(time, {.before_ns = before_ns, .after_ns = after_ns}).why;
  };
  EXPECT_THAT(why(1'200'000'000, 0), HasSubstr("its last, without 1.20 s before it, the GPU"));
  EXPECT_THAT(why(0, 3'000), HasSubstr("its last, without 3.00 us after it, the GPU"));
  EXPECT_THAT(why(5'000, 3'000), HasSubstr("its last, without 5.00 us before and 3.00 us after it, the GPU"));
}

TEST(Verdict, IsUnrecordedWhereTheWorkOfMostLaunchesIs) {
  const DeviceTime time = time_of(90, 0, 0, 0, 0, 10, 0);
  EXPECT_EQ(judge(time, {.launches = 10, .lost_launches = 5}).bound_by, Bound::kGpu);
  const Verdict verdict = judge(time, {.launches = 10, .lost_launches = 6});
  EXPECT_EQ(verdict.bound_by, Bound::kUnrecorded);
  EXPECT_THAT(verdict.why, EndsWith(". For 6 of the 10 launches, what the GPU did is not in the recording."));
}

TEST(Verdict, DoesNotSayForHowLongCopiesWithoutTimesRan) {
  const Verdict verdict = judge(time_of(90, 0, 0, 0, 0, 10, 0), {.are_copies_untimed = true});
  EXPECT_EQ(verdict.exposed_transfer_pct, std::nullopt);
  EXPECT_THAT(verdict.why, HasSubstr(", copied for a time that was not recorded, and did nothing for 10.0 %"));
}

TEST(Verdict, IsUnknownWhenNoDeviceDidAnything) {
  EXPECT_EQ(judge({}, {}).bound_by, std::nullopt);
  EXPECT_EQ(judge({}, {}).gpu_busy_pct, std::nullopt);
}

TEST(Verdict, SharesIdleTimeOut) {
  const Verdict verdict = judge(time_of(400, 100, 50, 250, 20, 130, 50), {});
  EXPECT_DOUBLE_EQ(verdict.idle->copies_pct, 5);
  EXPECT_DOUBLE_EQ(verdict.idle->syncs_pct, 25);
  EXPECT_DOUBLE_EQ(verdict.idle->input_pct, 2);
  EXPECT_DOUBLE_EQ(verdict.idle->launch_pct, 13);
  EXPECT_DOUBLE_EQ(verdict.idle->quiet_pct, 5);
}

TEST(Verdict, ShowsSharesFromATwentiethOfAPercentOn) {
  EXPECT_THAT(judge(time_of(19'990, 0, 0, 10, 0, 0, 0), {}).why,
              EndsWith("nothing for 0.1 %: 0.1 % because of synchronisations."));
  EXPECT_THAT(judge(time_of(19'991, 0, 0, 9, 0, 0, 0), {}).why, EndsWith("nothing for 0.0 %."));
}

TEST(Verdict, SaysOfARangeWhatHappenedWhileItWasOpen) {
  EXPECT_THAT(judge(time_of(1, 1, 1, 1, 1, 1, 1), {.whole_steps = 3, .processes = 2, .is_range = true}).why,
              StartsWith("While it was open, the GPU computed for 14.3 %"));
  EXPECT_THAT(judge(time_of(1, 1, 1, 1, 1, 1, 1), {.whole_steps = 3, .processes = 1}).why,
              StartsWith("Over the 3 whole steps, "));
}

}  // namespace
}  // namespace turnpike::analyze
