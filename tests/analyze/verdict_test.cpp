// The division of a device's time, and the verdict drawn from it.
#include "analyze/verdict.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kMs = 1'000'000;

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
  const DeviceTime time = account(activity, host);
  EXPECT_EQ(time.span_ns, 100 * kMs);
  EXPECT_EQ(time.kernel_ns, 20 * kMs);
  EXPECT_EQ(time.exposed_transfer_ns, 10 * kMs);
  EXPECT_EQ(time.idle_ns, 70 * kMs);
  EXPECT_EQ(time.copy_wait_ns, 10 * kMs);
  EXPECT_EQ(time.sync_wait_ns, 10 * kMs);
  EXPECT_EQ(time.launch_ns, 8 * kMs);  // 0 to 3, the pause of 1 ms included, and 95 to 100
  EXPECT_EQ(time.quiet_ns, 42 * kMs);  // 3 to 10, 60 to 95
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

DeviceTime time_of(std::int64_t kernel, std::int64_t transfer, std::int64_t copy, std::int64_t sync,
                   std::int64_t launch, std::int64_t quiet) {
  return {.span_ns = kernel + transfer + copy + sync + launch + quiet,
          .kernel_ns = kernel,
          .exposed_transfer_ns = transfer,
          .idle_ns = copy + sync + launch + quiet,
          .copy_wait_ns = copy,
          .sync_wait_ns = sync,
          .launch_ns = launch,
          .quiet_ns = quiet};
}

TEST(Verdict, IsTheGpuFromNinetyPercentOn) {
  EXPECT_EQ(judge(time_of(90, 10, 0, 0, 0, 0), true).bound_by, "gpu");
  EXPECT_EQ(judge(time_of(89, 11, 0, 0, 0, 0), true).bound_by, "transfer");
}

TEST(Verdict, IsTheCauseOfMoreThanHalfOfTheRest) {
  EXPECT_EQ(judge(time_of(40, 20, 15, 25, 0, 0), true).bound_by, "transfer");
  EXPECT_EQ(judge(time_of(40, 10, 0, 31, 19, 0), true).bound_by, "sync");
  EXPECT_EQ(judge(time_of(40, 0, 0, 0, 40, 20), true).bound_by, "launch");
  EXPECT_EQ(judge(time_of(40, 0, 0, 0, 0, 60), true).bound_by, "input");
}

TEST(Verdict, IsMixedWhenNoCauseExplainsMoreThanHalf) {
  EXPECT_EQ(judge(time_of(40, 0, 30, 30, 0, 0), true).bound_by, "mixed");
  EXPECT_EQ(judge(time_of(0, 25, 0, 25, 25, 25), true).bound_by, "mixed");
}

TEST(Verdict, SaysItsNumbers) {
  const Verdict verdict = judge(time_of(400, 100, 50, 250, 150, 50), true);
  EXPECT_DOUBLE_EQ(*verdict.gpu_busy_pct, 40.0);
  EXPECT_DOUBLE_EQ(*verdict.gpu_idle_pct, 50.0);
  EXPECT_DOUBLE_EQ(*verdict.exposed_transfer_pct, 10.0);
  EXPECT_EQ(
      verdict.why,
      "Kernels ran for 40.0 % of the time; for 10.0 % only transfers ran, and for 50.0 % nothing did: the host was "
      "held by copies for 5.0 %, by synchronisations for 25.0 %, was issuing work for 15.0 % and did not call "
      "CUDA for 5.0 %.");
}

TEST(Verdict, IsUnknownWithoutKernels) {
  const Verdict verdict = judge({}, false);
  EXPECT_EQ(verdict.bound_by, "");
  EXPECT_EQ(verdict.gpu_busy_pct, std::nullopt);
  EXPECT_EQ(verdict.gpu_idle_pct, std::nullopt);
  EXPECT_EQ(verdict.exposed_transfer_pct, std::nullopt);
  EXPECT_FALSE(verdict.why.empty());
}

TEST(Verdict, IsUnknownWhenNoDeviceDidAnything) {
  EXPECT_EQ(judge({}, true).bound_by, "");
  EXPECT_EQ(judge({}, true).gpu_busy_pct, std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
