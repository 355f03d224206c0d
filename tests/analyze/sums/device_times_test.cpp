// How devices spent their time, in parts of the run.
#include "analyze/sums/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyze/process_builder.h"
#include "analyze/sums/process_analysis.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;
using trace::CopyKind;

// A process and what its devices did. Times in microseconds.
class Devices : public ProcessBuilder {
 public:
  void launch(std::int64_t start, std::int64_t end, std::uint32_t correlation) {
    call({.kind = CallKind::kLaunch,
          .start_ns = start * kUs,
          .end_ns = end * kUs,
          .correlation = correlation,
          .name = "cudaLaunchKernel"});
  }
  void run(std::int64_t start, std::int64_t end, std::uint32_t correlation, std::uint32_t device = 0,
           const std::string& name = "gemm") {
    kernel({.start_ns = start * kUs, .end_ns = end * kUs, .correlation = correlation, .device = device, .name = name});
  }
  void wait(std::int64_t start, std::int64_t end, std::uint32_t correlation) {
    call({.kind = CallKind::kSynchronize,
          .start_ns = start * kUs,
          .end_ns = end * kUs,
          .correlation = correlation,
          .name = "cudaStreamSynchronize",
          .device = 0});
  }
  DeviceTime within(std::vector<Interval> parts) {
    for (Interval& part : parts) part = {part.start_ns * kUs, part.end_ns * kUs};
    const LoadedProcess loaded = take();
    RunSums sums;
    ProcessAnalysis analysis(sums, loaded.process, loaded.timeline);
    analysis.add_to_sums();
    IdleTimes idle = analysis.idle_times(*loaded.timeline.span);
    return DeviceTimes(analysis.activity(), idle).within(IntervalSet(std::move(parts)));
  }
};

TEST(DeviceTimes, GiveEveryMomentToOneCause) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(5, 100, 1);
  devices.wait(20, 110, 2);
  devices.launch(150, 156, 3);
  devices.run(155, 200, 3);
  devices.launch(156, 160, 4);
  devices.run(201, 220, 4);
  const DeviceTime time = devices.within({{0, 220}});
  EXPECT_EQ(time.span_ns, 220 * kUs);
  EXPECT_EQ(time.computing_ns, (95 + 45 + 19) * kUs);
  EXPECT_EQ(time.of(IdleCause::kLaunch), 5 * kUs);
  EXPECT_EQ(time.of(IdleCause::kSync), 55 * kUs) << "the wait, and issuing the work after it";
  EXPECT_EQ(time.of(IdleCause::kBetweenKernels), 1 * kUs);
  EXPECT_EQ(time.idle_ns(), 61 * kUs);
}

TEST(DeviceTimes, CountNothingOutsideOfTheParts) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(5, 100, 1);
  devices.launch(150, 156, 3);
  devices.run(155, 200, 3);
  const DeviceTime time = devices.within({{90, 120}, {140, 160}});
  EXPECT_EQ(time.span_ns, 50 * kUs);
  EXPECT_EQ(time.computing_ns, 15 * kUs);
  EXPECT_EQ(time.of(IdleCause::kLaunch), 35 * kUs);
}

// Before the first record of the device there are no stretches.
TEST(DeviceTimes, GiveTimeWithoutStretchesToTheHost) {
  Devices devices;
  devices.launch(1000, 1005, 1);
  devices.run(1005, 1100, 1);
  EXPECT_EQ(devices.within({{0, 1000}}).of(IdleCause::kUnknown), 1000 * kUs);
}

TEST(DeviceTimes, TakeCopiesWithinTheDeviceAndMemsetsForComputing) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(5, 100, 1);
  devices.copy({.start_ns = 100 * kUs, .end_ns = 140 * kUs, .bytes = 8, .kind = CopyKind::kDeviceToDevice});
  devices.copy({.start_ns = 140 * kUs, .end_ns = 150 * kUs, .bytes = 8, .kind = CopyKind::kHostToDevice});
  const DeviceTime time = devices.within({{0, 150}});
  EXPECT_EQ(time.computing_ns, 135 * kUs);
  EXPECT_EQ(time.of(IdleCause::kCopiesOnly), 10 * kUs);
}

TEST(DeviceTimes, TellCollectivesApartWhereNothingElseComputes) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(0, 100, 1);
  devices.run(80, 150, 1, 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  const DeviceTime time = devices.within({{0, 150}});
  EXPECT_EQ(time.computing_ns, 100 * kUs);
  EXPECT_EQ(time.collectives_ns, 50 * kUs);
}

TEST(DeviceTimes, LeaveOutADeviceThatDoesLittle) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(0, 100, 1, 0);
  devices.run(0, 9, 1, 1);
  EXPECT_EQ(devices.within({{0, 100}}).span_ns, 100 * kUs);
  devices.launch(0, 5, 1);
  devices.run(0, 100, 1, 0);
  devices.run(0, 10, 1, 1);
  EXPECT_EQ(devices.within({{0, 100}}).span_ns, 200 * kUs);
}

TEST(DeviceTimes, OfNoPartAreNothing) {
  Devices devices;
  devices.launch(0, 5, 1);
  devices.run(0, 100, 1);
  EXPECT_EQ(devices.within({}).span_ns, 0);
}

TEST(DeviceTime, SumsUpEachPart) {
  DeviceTime one, other;
  one.span_ns = 1, one.computing_ns = 2, one.collectives_ns = 3;
  other.span_ns = 10, other.computing_ns = 20, other.collectives_ns = 30;
  for (const IdleCause cause : kIdleCauses) {
    one.of(cause) = 4;
    other.of(cause) = 40;
  }
  one.add(other);
  EXPECT_EQ(one.span_ns, 11);
  EXPECT_EQ(one.computing_ns, 22);
  EXPECT_EQ(one.collectives_ns, 33);
  for (const IdleCause cause : kIdleCauses) EXPECT_EQ(one.of(cause), 44) << name_of(cause);
  EXPECT_EQ(one.idle_ns(), 9 * 44) << "all but copies only and another rank";
}

}  // namespace
}  // namespace turnpike::analyze
