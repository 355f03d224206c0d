// Memory over time: of the process, and what calls take and give back.
#include <gtest/gtest.h>

#include <algorithm>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::CallKind;

TEST(Memory, OfTheProcessIsFollowed) {
  constexpr std::uint64_t kGrowth = std::uint64_t{64} << 20;
  const VictimRun run({"grow", std::to_string(kGrowth)});
  const Trace trace = run.trace();
  EXPECT_EQ(trace.losses(), "");
  ASSERT_GE(trace.memories.size(), 4u) << "start, grown, shrunk, end";
  EXPECT_TRUE(std::is_sorted(trace.memories.begin(), trace.memories.end(),
                             [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; }));
  const auto most = std::max_element(trace.memories.begin(), trace.memories.end(),
                                     [](const auto& a, const auto& b) { return a.resident_bytes < b.resident_bytes; });
  EXPECT_GT(most->resident_bytes, trace.memories.front().resident_bytes + kGrowth * 9 / 10);
  EXPECT_GT(most->resident_bytes, trace.memories.back().resident_bytes + kGrowth * 9 / 10);
  EXPECT_LE(most->resident_bytes, static_cast<std::uint64_t>(run.outcome().peak_memory_bytes) + (4 << 20));
  EXPECT_LE(trace.memories.size(), 14u) << "ten a second at most";
}

TEST(Memory, IsNotedAtTheStartAndAtTheEndOfAShortRun) {
  const Trace trace = VictimRun({"uploads", "3"}).trace();
  ASSERT_EQ(trace.memories.size(), 2u);
  EXPECT_GE(trace.memories[0].time_ns, trace.process.start_realtime_ns);
  EXPECT_LE(trace.memories[1].time_ns, trace.process.end->end_realtime_ns);
  for (const auto& memory : trace.memories) EXPECT_GT(memory.resident_bytes, 1u << 20);
}

class Allocations : public testing::Test {
 protected:
  static void SetUpTestSuite() { trace_ = new Trace(VictimRun({"allocations"}).trace()); }
  static void TearDownTestSuite() { delete trace_; }

  // The call of that name that took so many bytes, and that a call of the other name gave them back.
  static void expect_pair(const char* taking, std::uint64_t bytes, CallKind taking_kind, const char* giving,
                          CallKind giving_kind) {
    const auto taken = trace_->calls_named(taking);
    const auto found = std::find_if(taken.begin(), taken.end(), [&](const auto& call) { return call.bytes == bytes; });
    ASSERT_NE(found, taken.end()) << taking << " " << bytes;
    EXPECT_EQ(found->kind, taking_kind) << taking;
    EXPECT_NE(found->dst, 0u) << taking;
    EXPECT_NE(found->stack, trace::kNoId) << taking;
    const auto given = trace_->calls_named(giving);
    const auto back = std::find_if(given.begin(), given.end(), [&](const auto& call) {
      return call.dst == found->dst && call.start_ns >= found->end_ns;
    });
    ASSERT_NE(back, given.end()) << giving << " of " << bytes;
    EXPECT_EQ(back->kind, giving_kind) << giving;
  }

  static Trace* trace_;
};
Trace* Allocations::trace_ = nullptr;

TEST_F(Allocations, HaveSizeAddressAndStackAndAreGivenBack) {
  expect_pair("cudaMallocAsync", 4001, CallKind::kDeviceAlloc, "cudaFreeAsync", CallKind::kDeviceFree);
  expect_pair("cudaMallocFromPoolAsync", 4002, CallKind::kDeviceAlloc, "cudaFreeAsync", CallKind::kDeviceFree);
  expect_pair("cudaMallocPitch", 512 * 40, CallKind::kDeviceAlloc, "cudaFree", CallKind::kDeviceFree);
  expect_pair("cuMemAllocHost_v2", 4006, CallKind::kHostAlloc, "cuMemFreeHost", CallKind::kHostFree);
}

TEST_F(Allocations, OfPhysicalDeviceMemoryAreKnownByTheirHandle) {
  expect_pair("cuMemCreate", 4004, CallKind::kDeviceAlloc, "cuMemRelease", CallKind::kDeviceFree);
  const auto created = trace_->calls_named("cuMemCreate");
  ASSERT_EQ(created.size(), 2u);
  EXPECT_EQ(created[1].bytes, trace::kUnknownSize) << "of the host: no device's memory";
  EXPECT_EQ(created[1].dst, 0u);
}

}  // namespace
}  // namespace turnpike::record_tests
