// The division of a device's time, and the verdict drawn from it.
#include "analyze/sums/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(DeviceTime, GivesEveryMomentToOneCause) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 10 * kMs, .end_ns = 30 * kMs});
  builder.copy({.start_ns = 25 * kMs, .end_ns = 40 * kMs});
  const Activity activity(builder.take().timeline, true);
  HostActivity host;
  host.span = {0, 100 * kMs};
  host.calls = {{0, 1 * kMs}, {2 * kMs, 3 * kMs}, {38 * kMs, 60 * kMs}, {95 * kMs, 100 * kMs}};
  host.copy_waits = {{38 * kMs, 50 * kMs}};
  host.sync_waits = {{45 * kMs, 60 * kMs}};
  host.batch_gaps = {{60 * kMs, 80 * kMs}};
  const DeviceTime time = account(activity, host);
  EXPECT_EQ(time.span_ns, 100 * kMs);
  EXPECT_EQ(time.kernel_ns, 20 * kMs);
  EXPECT_EQ(time.exposed_transfer_ns, 10 * kMs);
  EXPECT_EQ(time.idle_ns, 70 * kMs);
  EXPECT_EQ(time.copy_wait_ns, 10 * kMs);
  EXPECT_EQ(time.sync_wait_ns, 10 * kMs);
  EXPECT_EQ(time.launch_ns, 8 * kMs);  // 0 to 3, the pause of 1 ms included, and 95 to 100
  EXPECT_EQ(time.input_ns, 20 * kMs);
  EXPECT_EQ(time.quiet_ns, 22 * kMs);  // 3 to 10, 80 to 95
}

TEST(DeviceTime, CountsNothingOutsideOfItsSpan) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 30 * kMs});
  builder.copy({.start_ns = 40 * kMs, .end_ns = 90 * kMs});
  HostActivity host;
  host.span = {20 * kMs, 50 * kMs};
  host.calls = {{0, 100 * kMs}};
  host.copy_waits = {{35 * kMs, 100 * kMs}};
  host.batch_gaps = {{0, 33 * kMs}};
  const DeviceTime time = account(Activity(builder.take().timeline, true), host);
  EXPECT_EQ(time.span_ns, 30 * kMs);
  EXPECT_EQ(time.kernel_ns, 10 * kMs);
  EXPECT_EQ(time.exposed_transfer_ns, 10 * kMs);
  EXPECT_EQ(time.idle_ns, 10 * kMs);
  EXPECT_EQ(time.copy_wait_ns, 5 * kMs);
  EXPECT_EQ(time.input_ns, 3 * kMs);
  EXPECT_EQ(time.launch_ns, 2 * kMs);
  EXPECT_EQ(time.quiet_ns, 0);
}

TEST(DeviceTime, AddsUpOverDevices) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 50, .device = 0});
  builder.kernel({.start_ns = 0, .end_ns = 10, .device = 1});
  const DeviceTime time = account(Activity(builder.take().timeline, true), {.span = {0, 100}});
  EXPECT_EQ(time.span_ns, 200);
  EXPECT_EQ(time.kernel_ns, 60);
  EXPECT_EQ(time.idle_ns, 140);
}

// In the order of the sentence.
DeviceTime time_of(std::int64_t kernel, std::int64_t transfer, std::int64_t copy, std::int64_t sync, std::int64_t input,
                   std::int64_t launch, std::int64_t quiet) {
  return {.span_ns = kernel + transfer + copy + sync + input + launch + quiet,
          .kernel_ns = kernel,
          .exposed_transfer_ns = transfer,
          .idle_ns = copy + sync + input + launch + quiet,
          .copy_wait_ns = copy,
          .sync_wait_ns = sync,
          .input_ns = input,
          .launch_ns = launch,
          .quiet_ns = quiet};
}

std::optional<Bound> bound_of(const DeviceTime& time) {
  return judge(time, {}).bound_by;
}

TEST(Verdict, IsTheGpuFromNinetyPercentOn) {
  EXPECT_EQ(bound_of(time_of(90, 10, 0, 0, 0, 0, 0)), Bound::kGpu);
  EXPECT_EQ(bound_of(time_of(89, 11, 0, 0, 0, 0, 0)), Bound::kTransfer);
}

TEST(Verdict, IsTheCauseOfMoreThanHalfOfTheRest) {
  EXPECT_EQ(bound_of(time_of(40, 20, 15, 25, 0, 0, 0)), Bound::kTransfer);
  EXPECT_EQ(bound_of(time_of(40, 10, 0, 31, 0, 19, 0)), Bound::kSync);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 20, 40, 0)), Bound::kLaunch);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 40, 20, 0)), Bound::kInput);
}

TEST(Verdict, IsLaunchWhenTheHostIsElsewhereWithoutWaiting) {
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 0, 0, 60)), Bound::kLaunch);
  EXPECT_EQ(bound_of(time_of(40, 0, 5, 5, 10, 20, 20)), Bound::kLaunch);
}

TEST(Verdict, IsMixedWhenNoCauseExplainsMoreThanHalf) {
  EXPECT_EQ(bound_of(time_of(40, 0, 30, 30, 0, 0, 0)), Bound::kMixed);
  EXPECT_EQ(bound_of(time_of(0, 25, 0, 25, 25, 25, 0)), Bound::kMixed);
}

TEST(Verdict, SaysItsNumbers) {
  const Verdict verdict = judge(time_of(400, 100, 50, 250, 20, 130, 50), {.whole_steps = 39, .processes = 1});
  EXPECT_DOUBLE_EQ(*verdict.gpu_busy_pct, 40.0);
  EXPECT_DOUBLE_EQ(*verdict.gpu_idle_pct, 50.0);
  EXPECT_DOUBLE_EQ(*verdict.exposed_transfer_pct, 10.0);
  EXPECT_EQ(verdict.why,
            "Over the 39 whole steps, kernels ran for 40.0 % of the time, only transfers for 10.0 %, and nothing for "
            "50.0 %: the host was held by copies for 5.0 %, was held by synchronisations for 25.0 %, got the next "
            "batch ready for 2.0 %, issued work for 13.0 % and made no call to CUDA elsewhere for 5.0 %.");
}

TEST(Verdict, LeavesOutWhatDidNotHappen) {
  EXPECT_THAT(judge(time_of(990, 0, 0, 0, 0, 10, 0), {}).why,
              EndsWith("only transfers for 0.0 %, and nothing for 1.0 %: the host issued work for 1.0 %."));
  EXPECT_THAT(judge(time_of(1000, 0, 0, 0, 0, 0, 0), {}).why, EndsWith("and nothing for 0.0 %."));
}

TEST(Verdict, SaysWhatItIsAbout) {
  const DeviceTime time = time_of(1, 1, 1, 1, 1, 1, 1);
  EXPECT_THAT(judge(time, {}).why, StartsWith("Over all that was recorded, "));
  EXPECT_THAT(judge(time, {.whole_steps = 80, .processes = 2}).why,
              StartsWith("Over the 80 whole steps of 2 processes, "));
  EXPECT_THAT(judge(time, {.whole_steps = 38, .processes = 1, .has_warm_up = true}).why,
              StartsWith("Over the 38 whole steps after the warm-up, "));
}

TEST(Verdict, IsUnknownWhenNoDeviceDidAnything) {
  EXPECT_EQ(judge({}, {}).bound_by, std::nullopt);
  EXPECT_EQ(judge({}, {}).gpu_busy_pct, std::nullopt);
}

TEST(Verdict, NamesTheFirstOfEqualCausesMixedUnlessItIsMoreThanHalf) {
  EXPECT_EQ(bound_of(time_of(40, 15, 16, 29, 0, 0, 0)), Bound::kTransfer);  // 31 of 60
  EXPECT_EQ(bound_of(time_of(40, 15, 15, 30, 0, 0, 0)), Bound::kMixed);     // 30 of 60
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 31, 29, 0, 0)), Bound::kSync);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 30, 30, 0, 0)), Bound::kMixed);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 0, 29, 15, 16)), Bound::kLaunch);
  EXPECT_EQ(bound_of(time_of(40, 0, 0, 29, 31, 0, 0)), Bound::kInput);
  EXPECT_EQ(bound_of(time_of(899, 101, 0, 0, 0, 0, 0)), Bound::kTransfer);
  EXPECT_EQ(bound_of(time_of(900, 100, 0, 0, 0, 0, 0)), Bound::kGpu);
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
              EndsWith("nothing for 0.1 %: the host was held by synchronisations for 0.1 %."));
  EXPECT_THAT(judge(time_of(19'991, 0, 0, 9, 0, 0, 0), {}).why, EndsWith("nothing for 0.0 %."));
}

TEST(Verdict, SaysOfARangeWhatHappenedWhileItWasOpen) {
  EXPECT_THAT(judge(time_of(1, 1, 1, 1, 1, 1, 1), {.whole_steps = 3, .processes = 2, .is_range = true}).why,
              StartsWith("While it was open, kernels ran for 14.3 %"));
  EXPECT_THAT(judge(time_of(1, 1, 1, 1, 1, 1, 1), {.whole_steps = 3, .processes = 1}).why,
              StartsWith("Over the 3 whole steps, "));
}

TEST(DeviceTime, SumsUpEachPart) {
  DeviceTime sum = time_of(1, 2, 3, 4, 5, 6, 7);
  sum.add(time_of(10, 20, 30, 40, 50, 60, 70));
  EXPECT_EQ(sum.span_ns, 11 * 28);
  EXPECT_EQ(sum.kernel_ns, 11);
  EXPECT_EQ(sum.exposed_transfer_ns, 22);
  EXPECT_EQ(sum.idle_ns, 275);
  EXPECT_EQ(sum.copy_wait_ns, 33);
  EXPECT_EQ(sum.sync_wait_ns, 44);
  EXPECT_EQ(sum.input_ns, 55);
  EXPECT_EQ(sum.launch_ns, 66);
  EXPECT_EQ(sum.quiet_ns, 77);
}

// A pause of 2 ms is issuing, a longer one is not.
TEST(DeviceTime, PausesOfTwoMillisecondsAreIssuing) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 1});
  const Activity activity(builder.take().timeline, true);
  HostActivity host;
  host.span = {0, 10 * kMs};
  host.calls = {{0, 1 * kMs}, {3 * kMs, 4 * kMs}, {6 * kMs + 1, 7 * kMs}};
  const DeviceTime time = account(activity, host);
  EXPECT_EQ(time.launch_ns, 4 * kMs - 1 + (kMs - 1));
  EXPECT_EQ(time.quiet_ns, 2 * kMs + 1 + 3 * kMs);
}

TEST(DeviceTime, OfTwoDevicesIsEachForItself) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 40, .device = 0});
  builder.copy({.start_ns = 30, .end_ns = 60, .device = 0});
  builder.kernel({.start_ns = 50, .end_ns = 70, .device = 1});
  HostActivity host;
  host.span = {0, 100};
  host.copy_waits = {{20, 65}};
  host.sync_waits = {{60, 80}};
  host.batch_gaps = {{75, 90}};
  const DeviceTime time = account(Activity(builder.take().timeline, true), host);
  EXPECT_EQ(time.span_ns, 200);
  EXPECT_EQ(time.kernel_ns, 40 + 20);
  EXPECT_EQ(time.exposed_transfer_ns, 20);
  EXPECT_EQ(time.idle_ns, 40 + 80);
  EXPECT_EQ(time.copy_wait_ns, 5 + 30);
  EXPECT_EQ(time.sync_wait_ns, 15 + 10);
  EXPECT_EQ(time.input_ns, 10 + 10);
  EXPECT_EQ(time.launch_ns, 0);
  EXPECT_EQ(time.quiet_ns, 10 + 30);
}

TEST(DeviceTime, OfNoSpanIsNothing) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 40});
  const Activity activity(builder.take().timeline, true);
  EXPECT_EQ(DeviceTimes(activity, {}).within(IntervalSet()).span_ns, 0);
}

}  // namespace
}  // namespace turnpike::analyze
