// Memory over the run: peaks, the lines behind them, points.
#include "analyze/model/memory_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using trace::CallKind;

// Calls that take and give back memory; each ends 10 ns behind its start.
struct Program {
  ProcessBuilder builder;

  void take(std::int64_t at_ns, std::uint64_t bytes, std::uint64_t address, std::uint32_t stack = trace::kNoId,
            CallKind kind = CallKind::kDeviceAlloc, std::uint32_t device = 0) {
    builder.call({.kind = kind,
                  .start_ns = at_ns,
                  .end_ns = at_ns + 10,
                  .stack = stack,
                  .name = "cudaMalloc",
                  .device = device,
                  .context = 50 + device,
                  .bytes = bytes,
                  .dst = address});
  }
  void give_back(std::int64_t at_ns, std::uint64_t address, CallKind kind = CallKind::kDeviceFree) {
    builder.call({.kind = kind, .start_ns = at_ns, .end_ns = at_ns + 10, .name = "cudaFree", .dst = address});
  }
  std::optional<MemoryUse> use(std::int64_t span_start_ns = 0) {
    const LoadedProcess loaded = builder.take();
    Stacks stacks(loaded.process, loaded.timeline);
    return memory_use_of(loaded.timeline, stacks, span_start_ns);
  }
};

std::vector<std::string> texts_of(const std::vector<MemorySite>& sites) {
  std::vector<std::string> texts;
  for (const MemorySite& site : sites) {
    texts.push_back(site.site + " " + name_of(site.kind) + " " + std::to_string(site.bytes) + " of " +
                    std::to_string(site.count));
  }
  return texts;
}

std::vector<std::string> texts_of(const std::vector<MemoryPoint>& points) {
  std::vector<std::string> texts;
  for (const MemoryPoint& point : points) {
    texts.push_back(std::to_string(point.time_ns) + ": " +
                    (point.resident_bytes ? std::to_string(*point.resident_bytes) : "?") + " " +
                    std::to_string(point.device_bytes) + " " + std::to_string(point.pinned_bytes));
  }
  return texts;
}

TEST(MemoryUse, OfNothingIsUnknown) {
  EXPECT_EQ(Program().use(), std::nullopt);
}

TEST(MemoryUse, RisesAndFallsWithWhatIsTakenAndGivenBack) {
  Program program;
  program.take(100, 1000, 0xA);
  program.builder.resident(115, 70);
  program.take(120, 500, 0xB);
  program.take(130, 64, 0xC, trace::kNoId, CallKind::kHostAlloc);
  program.builder.resident(145, 50);
  program.give_back(150, 0xA);
  program.take(160, 300, 0xD);
  program.take(170, 32, 0xE, trace::kNoId, CallKind::kHostRegister);
  program.give_back(180, 0xC, CallKind::kHostFree);
  program.give_back(190, 0xE, CallKind::kHostUnregister);
  const auto use = program.use(100);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->peak_device_bytes, 1500u);
  EXPECT_EQ(use->peak_pinned_bytes, 96u);
  EXPECT_EQ(use->peak_resident_bytes, 70u);
  EXPECT_THAT(texts_of(use->points),
              ElementsAre("10: ? 1000 0", "15: 70 1000 0", "30: 70 1500 0", "40: 70 1500 64", "45: 50 1500 64",
                          "60: 50 500 64", "70: 50 800 64", "80: 50 800 96", "90: 50 800 32", "100: 50 800 0"));
}

TEST(MemoryUse, NamesTheLinesOfWhatWasLiveAtThePeak) {
  Program program;
  const auto early = program.builder.line("early.py", 1);
  const auto weights = program.builder.line("weights.py", 2);
  const auto late = program.builder.line("late.py", 3);
  program.take(0, 900, 0xA, early);
  program.give_back(20, 0xA);
  program.take(40, 400, 0xB, weights);
  program.take(60, 200, 0xC, late);
  program.take(80, 350, 0xD, weights);  // the peak: 950
  program.give_back(100, 0xC);
  program.take(120, 200, 0xE, late);  // as high again, and no higher
  program.take(140, 5, 0xF, late, CallKind::kHostAlloc);
  program.take(160, 7, 0x10, late, CallKind::kManagedAlloc);
  const auto use = program.use();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->peak_device_bytes, 950u);
  EXPECT_THAT(texts_of(use->sites), ElementsAre("weights.py:2 device 750 of 2", "late.py:3 device 200 of 1",
                                                "late.py:3 managed 7 of 1", "late.py:3 pinned 5 of 1"));
}

TEST(MemoryUse, KeepsTheTenLinesWithMost) {
  Program program;
  for (std::uint32_t line = 1; line <= 11; ++line) {
    program.take(line * 20, line, line, program.builder.line("a.py", line));
  }
  const auto use = program.use();
  ASSERT_THAT(use->sites, SizeIs(10));
  EXPECT_EQ(use->sites.front().bytes, 11u);
  EXPECT_EQ(use->sites.back().bytes, 2u);
}

TEST(MemoryUse, LeavesOutWhatFailedOrHasNoSizeOrNoAddress) {
  Program program;
  program.take(0, 100, 0xA);
  program.take(20, trace::kUnknownSize, 0xB);
  program.take(40, 7, 0);
  program.builder.call(
      {.kind = CallKind::kDeviceAlloc, .start_ns = 60, .end_ns = 70, .bytes = 9, .result = 2, .dst = 0xC});
  program.builder.call({.kind = CallKind::kDeviceFree, .start_ns = 80, .end_ns = 90, .result = 2, .dst = 0xA});
  program.give_back(100, 0xDEAD);  // taken before the recording
  const auto use = program.use();
  EXPECT_EQ(use->peak_device_bytes, 100u);
  EXPECT_THAT(use->points, SizeIs(1));
}

TEST(MemoryUse, GivesTheSameMemoryBackOnce) {
  Program program;
  program.take(0, 100, 0xA);
  program.give_back(20, 0xA);
  program.give_back(40, 0xA);
  EXPECT_THAT(texts_of(program.use()->points), ElementsAre("10: ? 100 0", "30: ? 0 0"));
}

// Every n-th point is kept, the last among them.
TEST(MemoryUse, ThinsOutItsPoints) {
  const auto times_of = [](int count) {
    Program program;
    for (int i = 0; i < count; ++i) program.builder.resident(i, 1 + static_cast<std::uint64_t>(i));
    std::vector<std::int64_t> times_ns;
    const auto use = program.use();
    for (const MemoryPoint& point : use->points) times_ns.push_back(point.time_ns);
    return times_ns;
  };
  EXPECT_THAT(times_of(256), SizeIs(256));
  const auto half = times_of(257);
  ASSERT_THAT(half, SizeIs(129));
  EXPECT_EQ(half[0], 0);
  EXPECT_EQ(half[1], 2);
  EXPECT_EQ(half.back(), 256);
  const auto third = times_of(600);
  ASSERT_THAT(third, SizeIs(200));
  EXPECT_EQ(third[0], 2);
  EXPECT_EQ(third.back(), 599);
}

TEST(PeakOfADevice, IsItsOwn) {
  Program program;
  program.take(0, 100, 0xA, trace::kNoId, CallKind::kDeviceAlloc, 0);
  program.take(20, 30, 0xB, trace::kNoId, CallKind::kDeviceAlloc, 1);
  program.take(40, 5000, 0xC, trace::kNoId, CallKind::kHostAlloc, 0);
  program.builder.resident(55, 9999);
  program.give_back(60, 0xA);
  program.take(80, 50, 0xD, trace::kNoId, CallKind::kDeviceAlloc, 1);
  program.take(100, 60, 0xE, trace::kNoId, CallKind::kDeviceAlloc, 0);
  const Timeline timeline = program.builder.take().timeline;
  EXPECT_EQ(peak_device_bytes_of(timeline, 0), 100u);
  EXPECT_EQ(peak_device_bytes_of(timeline, 1), 80u);
  EXPECT_EQ(peak_device_bytes_of(timeline, 2), std::nullopt);
}

TEST(PeakOfADevice, IsUnknownBesideMemoryOfAnUnknownDevice) {
  Program program;
  program.take(0, 100, 0xA);
  program.builder.call({.kind = CallKind::kDeviceAlloc,
                        .start_ns = 20,
                        .end_ns = 30,
                        .context = trace::kUnknownId,
                        .bytes = 1,
                        .dst = 0xB});
  EXPECT_EQ(peak_device_bytes_of(program.builder.take().timeline, 0), std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
