// Overlap of transfers with kernels, and idling of devices.
#include "analyze/model/activity.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using trace::CopyKind;

Transfer transfer(std::int64_t start_ns, std::int64_t end_ns, std::uint32_t device = 0,
                  CopyKind kind = CopyKind::kHostToDevice) {
  ProcessBuilder builder;
  builder.copy({.start_ns = start_ns, .end_ns = end_ns, .kind = kind, .device = device});
  return builder.take().timeline.transfers.front();
}

TEST(Activity, ExposesWhatNoKernelHides) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 20});
  builder.kernel({.start_ns = 10, .end_ns = 30});  // beside the first
  builder.kernel({.start_ns = 50, .end_ns = 60});
  const LoadedProcess loaded = builder.take();
  const Activity activity(loaded.process, loaded.timeline, true);
  EXPECT_EQ(activity.exposed_ns(transfer(20, 55)), 20);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 30)), 0);
  EXPECT_EQ(activity.exposed_ns(transfer(30, 50)), 20);
  EXPECT_EQ(activity.exposed_ns(transfer(40, 40)), 0);
}

TEST(Activity, LooksAtTheDeviceOfTheTransfer) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 100, .device = 0});
  builder.kernel({.start_ns = 0, .end_ns = 10, .device = 1});
  const LoadedProcess loaded = builder.take();
  const Activity activity(loaded.process, loaded.timeline, true);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 50, 0)), 0);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 50, 1)), 40);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 50, 2)), 50);
}

TEST(Activity, SaysNothingWithoutKernelRecords) {
  const Activity activity(trace::Process(), Timeline(), false);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 50)), std::nullopt);
  EXPECT_EQ(activity.idle_ns(0, 0, 50), std::nullopt);
}

TEST(Activity, SaysNothingOfTransfersWithoutTimesOrDevice) {
  const Activity activity(trace::Process(), Timeline(), true);
  EXPECT_EQ(activity.exposed_ns(transfer(trace::kUnknownTime, trace::kUnknownTime)), std::nullopt);
  EXPECT_EQ(activity.exposed_ns(transfer(0, 50, 0, CopyKind::kHostToHost)), std::nullopt);
}

TEST(Activity, IdlesWhileNothingRuns) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 10, .end_ns = 20});
  builder.copy({.start_ns = 15, .end_ns = 30});
  builder.memset(40, 45, 0, 64);
  builder.copy({.start_ns = 50, .end_ns = 90, .kind = CopyKind::kHostToHost});  // not on the device
  const LoadedProcess loaded = builder.take();
  const Activity activity(loaded.process, loaded.timeline, true);
  EXPECT_EQ(activity.idle_ns(0, 0, 100), 75);
  EXPECT_EQ(activity.idle_ns(0, 12, 28), 0);
  EXPECT_EQ(activity.idle_ns(3, 0, 100), 100);
  EXPECT_EQ(activity.idle_ns(trace::kUnknownId, 0, 100), std::nullopt);
}

TEST(Activity, ResolvesAnUnknownDeviceOnlyWhenThereIsOne) {
  ProcessBuilder one;
  one.kernel({.start_ns = 0, .end_ns = 1, .device = 3});
  const LoadedProcess one_loaded = one.take();
  EXPECT_EQ(Activity(one_loaded.process, one_loaded.timeline, true).resolve(trace::kUnknownId), 3u);
  ProcessBuilder two;
  two.kernel({.start_ns = 0, .end_ns = 1, .device = 3});
  two.copy({.start_ns = 0, .end_ns = 1, .device = 4});
  const LoadedProcess two_loaded = two.take();
  const Activity activity(two_loaded.process, two_loaded.timeline, true);
  EXPECT_EQ(activity.resolve(trace::kUnknownId), trace::kUnknownId);
  EXPECT_EQ(activity.resolve(4), 4u);
}

TEST(KernelsRecorded, IsToldByTheKernelsOrByDetailAndNoLaunch) {
  ProcessBuilder with_kernel;
  with_kernel.kernel({.start_ns = 0, .end_ns = 1});
  EXPECT_TRUE(are_kernels_recorded(with_kernel.take().timeline, ""));
  EXPECT_TRUE(are_kernels_recorded(Timeline(), "full"));
  EXPECT_FALSE(are_kernels_recorded(Timeline(), "transfers"));
  EXPECT_FALSE(are_kernels_recorded(Timeline(), ""));
  ProcessBuilder launching;
  launching.call({.kind = trace::CallKind::kLaunch});
  EXPECT_FALSE(are_kernels_recorded(launching.take().timeline, "full"));
}

}  // namespace
}  // namespace turnpike::analyze
