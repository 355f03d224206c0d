// What is left of a link's traffic when copies, launches and requests are subtracted.
#include "analyze/model/dark_traffic.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kSecond = 1'000 * kMs;
constexpr std::uint64_t kMB = 1'000'000;

struct Work {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;

  Work() { builder.device(0, "GPU"); }
  void copy(std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes, trace::CopyKind kind,
            std::uint32_t device = 0) {
    const bool is_up = kind == trace::CopyKind::kHostToDevice;
    builder.call({.start_ns = start_ns, .end_ns = start_ns + 1, .correlation = ++correlation, .device = device});
    builder.copy({.start_ns = start_ns,
                  .end_ns = end_ns,
                  .correlation = correlation,
                  .bytes = bytes,
                  .kind = kind,
                  .src = is_up ? trace::MemoryKind::kPinned : trace::MemoryKind::kDevice,
                  .dst = is_up ? trace::MemoryKind::kDevice : trace::MemoryKind::kPinned,
                  .device = device});
  }
  void kernel(std::int64_t start_ns, std::int64_t end_ns, const std::string& name, std::uint32_t device = 0) {
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = start_ns,
                  .end_ns = start_ns + 1,
                  .correlation = ++correlation,
                  .device = device});
    builder.kernel(
        {.start_ns = start_ns, .end_ns = end_ns, .correlation = correlation, .device = device, .name = name});
  }
  std::vector<DarkTraffic> traffic() {
    process_ = builder.take();
    return dark_traffic_of(process_.timeline);
  }
  std::string name_of(const DarkTraffic& traffic) const { return process_.process.string(traffic.kernel); }

 private:
  LoadedProcess process_;
};

TEST(DarkTraffic, IsUnknownWithoutCounters) {
  Work work;
  work.copy(0, kSecond, 100 * kMB, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(work.traffic().empty());
}

TEST(DarkTraffic, IsWhatCopiesDoNotExplain) {
  Work work;
  work.copy(0, kSecond, 100 * kMB, trace::CopyKind::kHostToDevice);
  work.copy(kSecond, 2 * kSecond, 50 * kMB, trace::CopyKind::kDeviceToHost);
  work.builder.link_traffic(0, kSecond, 400 * kMB, 20 * kMB);
  work.builder.link_traffic(kSecond, 2 * kSecond, 0, 250 * kMB);
  const auto found = work.traffic();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].device, 0u);
  EXPECT_EQ(found[0].counted_ns, 2 * kSecond);
  EXPECT_EQ(found[0].carried_bytes, 670 * kMB);
  EXPECT_EQ(found[0].copied_bytes, 150 * kMB);
  // 400 - 100 in; 270 - 50 out without 15 % of 400 for requests.
  EXPECT_EQ(found[0].dark_bytes, 460 * kMB);
  EXPECT_EQ(found[0].kernel, trace::kNoId);
}

TEST(DarkTraffic, IsNoneWhereLaunchesExplainIt) {
  Work work;
  for (int i = 0; i < 1000; ++i) work.kernel(i * kMs, i * kMs + kMs / 2, "_Z6kernelv");
  work.builder.link_traffic(0, kSecond, 8192 * 1000, 0);
  EXPECT_EQ(work.traffic()[0].dark_bytes, 0u);
  for (int i = 0; i < 1000; ++i) work.kernel(i * kMs, i * kMs + kMs / 2, "_Z6kernelv");
  work.builder.link_traffic(0, kSecond, 8192 * 1000 + 77, 0);
  EXPECT_EQ(work.traffic()[0].dark_bytes, 77u);
}

TEST(DarkTraffic, LeavesOutWhatWasCopiedBeforeAndAfter) {
  Work work;
  work.copy(0, 2 * kSecond, 100 * kMB, trace::CopyKind::kHostToDevice);  // half of it
  work.copy(5 * kSecond, 6 * kSecond, 100 * kMB, trace::CopyKind::kHostToDevice);
  work.builder.link_traffic(kSecond, 3 * kSecond, 50 * kMB, 0);
  const auto found = work.traffic();
  EXPECT_EQ(found[0].copied_bytes, 50 * kMB);
  EXPECT_EQ(found[0].dark_bytes, 0u);
}

TEST(DarkTraffic, IsOfEachGpu) {
  Work work;
  work.builder.device(1, "GPU");
  work.copy(0, kSecond, 100 * kMB, trace::CopyKind::kHostToDevice, 1);
  work.builder.link_traffic(0, kSecond, 100 * kMB, 0, 1);
  work.builder.link_traffic(0, kSecond, 30 * kMB, 0, 0);
  const auto found = work.traffic();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].dark_bytes, 30 * kMB);
  EXPECT_EQ(found[1].device, 1u);
  EXPECT_EQ(found[1].dark_bytes, 0u);
}

TEST(DarkTraffic, NamesTheKernelThatRanMeanwhile) {
  Work work;
  work.kernel(0, 900 * kMs, "_Z7computev");
  work.kernel(2 * kSecond, 2 * kSecond + 600 * kMs, "_Z6gatherv");
  work.kernel(2 * kSecond + 600 * kMs, 2 * kSecond + 800 * kMs, "_Z7computev");
  work.builder.link_traffic(0, kSecond, 0, 0);
  work.builder.link_traffic(kSecond, 2 * kSecond, 0, 0);
  work.builder.link_traffic(2 * kSecond, 3 * kSecond, 800 * kMB, 0);
  const auto found = work.traffic();
  EXPECT_EQ(work.name_of(found[0]), "_Z6gatherv");
  EXPECT_DOUBLE_EQ(found[0].kernel_share, 0.75);
}

// The counters of a window may be those of a tenth of a second before it.
TEST(DarkTraffic, TakesTheLagOfTheCountersIntoAccount) {
  Work work;
  work.kernel(900 * kMs, 960 * kMs, "_Z6gatherv");
  work.kernel(kSecond, 2 * kSecond, "_Z7computev");
  work.copy(950 * kMs, 990 * kMs, 500 * kMB, trace::CopyKind::kHostToDevice);
  work.builder.link_traffic(kSecond, kSecond + 200 * kMs, 500 * kMB, 0);
  EXPECT_EQ(work.traffic()[0].kernel, trace::kNoId) << "the copy explains it";
}

TEST(DarkTraffic, IsNotMadeOfUnknownCounts) {
  Work work;
  work.builder.link_traffic(0, kSecond, trace::kUnknownSize, 5);
  work.builder.link_traffic(0, kSecond, 5, trace::kUnknownSize);
  work.builder.link_traffic(trace::kUnknownTime, kSecond, 5, 5);
  EXPECT_TRUE(work.traffic().empty());
}

}  // namespace
}  // namespace turnpike::analyze
