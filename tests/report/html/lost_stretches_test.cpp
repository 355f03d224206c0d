// When a recording lost records, as far as what it still holds tells.
#include "report/html/lost_stretches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/page.h"
#include "report/html/page_data.h"
#include "trace/losses.h"

namespace turnpike::report::html {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

void lose(Recording& recording, trace::Loss loss) {
  recording.process.losses[static_cast<std::uint32_t>(loss)] = 1;
}

// Launches every 100 us from 0 on, each with a kernel 20 us later that takes 10 us; without the kernels from `lost` to
// `end`.
void add_launches(Recording& recording, int count, int lost, int end) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t at = i * std::int64_t{100'000};
    const auto id = static_cast<std::uint32_t>(i + 1);
    recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", id, at, at + 5'000);
    if (i < lost || i >= end) recording.kernel("gemm", id, at + 20'000, at + 30'000);
  }
}

LostRecords lost_in(Recording& recording) {
  return find_lost(recording.process, recording.loader.take(), true);
}

std::string page_of(Recording& recording) {
  const analyze::Timeline timeline = recording.loader.take();
  Page page({}, 1);
  page.add({recording.process, timeline, nullptr, nullptr, nullptr});
  std::string html;
  page.write({}, [&](std::string_view bytes) { html += bytes; });
  return html;
}

TEST(LostStretches, KernelsLieBetweenTheirNeighboursOnTheStream) {
  Recording recording;
  lose(recording, trace::Loss::kCuptiDropped);
  add_launches(recording, 6, 2, 4);
  const LostRecords lost = lost_in(recording);
  ASSERT_THAT(lost.kernels, SizeIs(1));
  const LostKernels& kernels = lost.kernels[0];
  EXPECT_EQ(kernels.stream, 7u);
  EXPECT_EQ(kernels.stretch.count, 2u);
  // From the launch, which is later than the end of the kernel before, to the next kernel.
  EXPECT_EQ(kernels.stretch.time.start_ns, kStart + 200'000);
  EXPECT_EQ(kernels.stretch.time.end_ns, kStart + 420'000);
  EXPECT_FALSE(lost.has_untimed);
}

TEST(LostStretches, KernelsAtTheEndLieAtTheirLaunches) {
  Recording recording;
  lose(recording, trace::Loss::kActivityBuffersFull);
  add_launches(recording, 6, 4, 6);
  const LostRecords lost = lost_in(recording);
  ASSERT_THAT(lost.kernels, SizeIs(1));
  EXPECT_EQ(lost.kernels[0].stretch.time.start_ns, kStart + 400'000);
  EXPECT_EQ(lost.kernels[0].stretch.time.end_ns, kStart + 505'000);
}

TEST(LostStretches, LaunchesWithoutKernelsProveNothingWhereNothingWasLost) {
  Recording recording;
  add_launches(recording, 6, 2, 4);
  const LostRecords lost = lost_in(recording);
  EXPECT_THAT(lost.kernels, IsEmpty());
  EXPECT_FALSE(lost.has_untimed);
}

TEST(LostStretches, LaunchesThatGraphsMayHaveCapturedProveNothing) {
  Recording recording;
  lose(recording, trace::Loss::kCuptiDropped);
  add_launches(recording, 6, 2, 4);
  analyze::Timeline timeline = recording.loader.take();
  timeline.graph_nodes[1] = {};
  const LostRecords lost = find_lost(recording.process, timeline, true);
  EXPECT_THAT(lost.kernels, IsEmpty());
  EXPECT_TRUE(lost.has_untimed);
}

TEST(LostStretches, CallsLieBetweenTheCallsOfTheirThreadWithTheNextNumbers) {
  Recording recording;
  lose(recording, trace::Loss::kCallBuffersFull);
  recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", 1, 0, 5'000);
  recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", 4, 90'000, 95'000);
  for (std::uint32_t id = 1; id <= 4; ++id) recording.kernel("gemm", id, id * 100'000, id * 100'000 + 10'000);
  const LostRecords lost = lost_in(recording);
  ASSERT_THAT(lost.calls, SizeIs(1));
  EXPECT_EQ(lost.calls[0].thread, kMain);
  EXPECT_EQ(lost.calls[0].stretch.count, 2u);
  EXPECT_EQ(lost.calls[0].stretch.time.start_ns, kStart + 5'000);
  EXPECT_EQ(lost.calls[0].stretch.time.end_ns, kStart + 90'000);
}

TEST(LostStretches, ThePageShowsThemInTheirLanesAndSaysSo) {
  Recording recording;
  lose(recording, trace::Loss::kCuptiDropped);
  add_launches(recording, 6, 2, 4);
  const std::string html = page_of(recording);
  expect_lanes(html);
  const Json contents = contents_of(html);
  std::size_t found = 0;
  for (const Json& lane : contents["lanes"]) {
    for (const Decoded& event : events_of(html, lane)) {
      if (event.event_class != static_cast<std::uint64_t>(Class::kLost)) continue;
      ++found;
      EXPECT_EQ(lane["kind"], "stream");
      EXPECT_EQ(event.duration, 220'000u);
      EXPECT_EQ(contents["strings"][lane["names"][event.name].get<std::size_t>()], "at least 2 kernels not recorded");
    }
  }
  EXPECT_EQ(found, 1u);
  EXPECT_THAT(contents["left_out"].dump(), HasSubstr("1 stretch of the timeline is cross-hatched"));
}

TEST(LostStretches, ThePageSaysWhereNothingTellsTheTime) {
  Recording recording;
  lose(recording, trace::Loss::kCuptiDropped);
  add_launches(recording, 6, 6, 6);
  const std::string left_out = contents_of(page_of(recording))["left_out"].dump();
  EXPECT_THAT(left_out, HasSubstr("Records were lost at times that nothing tells"));
  EXPECT_THAT(left_out, Not(HasSubstr("cross-hatched")));
}

}  // namespace
}  // namespace turnpike::report::html
