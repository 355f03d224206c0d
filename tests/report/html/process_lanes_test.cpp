// What the lanes of a process hold before they are compressed.
#include "report/html/process_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/html/kept_lanes.h"
#include "report/html/page_data.h"

namespace turnpike::report::html {
namespace {

TEST(ProcessLanes, LeaveOutKernelsAndLaunchesWithoutRoom) {
  Recording recording;
  add_loop(recording, 2000);
  const analyze::Timeline timeline = recording.loader.take();
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  Strings strings;
  Sites sites;
  KeptLanes kept;
  // 2000 ranges, copies and blocked calls each are always there; 500 of 4000 launches and kernels have room.
  const ProcessLanes lanes =
      lanes_of({.view = view, .max_events = 6500, .reference_ns = typical_time_ns(timeline).value(), .first_number = 0},
               strings, sites, kept);
  EXPECT_EQ(lanes.left_out, 3500u);
  std::size_t launches_and_kernels = 0;
  for (const Lane& lane : kept.lanes) {
    for (const Event& event : lane.events) {
      launches_and_kernels += event.event_class == Class::kLaunch || event.event_class == Class::kKernel ? 1 : 0;
    }
  }
  EXPECT_EQ(launches_and_kernels, 500u);
}

// Looks at each block when it comes.
struct LookingLaneSink final : LaneSink {
  explicit LookingLaneSink(std::function<void(std::span<const Event>)> look) : look_(std::move(look)) {}
  void show_step(const analyze::Interval&) override {}
  void begin_lane(const Lane& lane) override { titles.push_back(lane.title); }
  void add_block(std::span<const Event> events) override { look_(events); }

  std::vector<std::string> titles;

 private:
  std::function<void(std::span<const Event>)> look_;
};

TEST(ProcessLanes, AreHandedOnInTheOrderOfThePageWithAllTheirNames) {
  Recording recording;
  add_loop(recording, 20);
  const analyze::Timeline timeline = recording.loader.take();
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  Strings strings;
  Sites sites;
  std::size_t looked_at = 0;
  LookingLaneSink sink([&](std::span<const Event> events) {
    looked_at += events.size();
    for (const Event& event : events) ASSERT_LT(event.name, strings.all().size()) << "it is encoded at once";
  });
  lanes_of({.view = view, .max_events = 1000, .reference_ns = typical_time_ns(timeline).value(), .first_number = 0},
           strings, sites, sink);
  EXPECT_THAT(sink.titles, testing::ElementsAre("steps", "ranges of main thread", "main thread", "stream 7: kernels",
                                                "copies CPU > GPU"));
  EXPECT_EQ(looked_at, 120u);
}

// Launches and kernels without a gap.
analyze::Timeline launches_without_gap(Recording& recording, int count) {
  const std::uint32_t name = recording.text("work");
  for (int i = 0; i < count; ++i) {
    trace::CallRecord call{};
    call.thread = kMain;
    call.start_ns = kStart + std::int64_t{i} * 1000;
    call.end_ns = call.start_ns + 1000;
    call.correlation = static_cast<std::uint32_t>(i + 1);
    call.stack = trace::kNoId;
    call.name = name;
    call.kind = trace::CallKind::kLaunch;
    call.bytes = trace::kUnknownSize;
    call.stream = call.device = trace::kUnknownId;
    recording.loader.on(call);
    trace::KernelRecord kernel{};
    kernel.start_ns = call.end_ns;
    kernel.end_ns = call.end_ns + 1000;
    kernel.correlation = call.correlation;
    kernel.name = name;
    recording.loader.on(kernel);
  }
  return recording.loader.take();
}

std::size_t heap_bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// What making the lanes needs at most, beside the timeline.
std::size_t most_bytes_for_lanes(int count) {
  Recording recording;
  const analyze::Timeline timeline = launches_without_gap(recording, count);
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  Strings strings;
  Sites sites;
  const std::size_t before = heap_bytes_in_use();
  std::size_t most = before;
  std::size_t seen = 0;
  LookingLaneSink sink([&](std::span<const Event> events) {
    seen += events.size();
    EXPECT_LE(events.size(), kMaxBlockEvents);
    most = std::max(most, heap_bytes_in_use());
  });
  lanes_of({.view = view, .max_events = 10'000'000, .reference_ns = kStart, .first_number = 0}, strings, sites, sink);
  EXPECT_EQ(seen, 2u * static_cast<unsigned>(count));
  return most - before;
}

// An event has 48 bytes; only those of one block exist at a time. The allocators of sanitizers tell nothing here.
TEST(ProcessLanes, NeedFewBytesForEachFurtherEvent) {
  const std::size_t few = most_bytes_for_lanes(200'000);
  const std::size_t many = most_bytes_for_lanes(400'000);
  EXPECT_LT(many, few + 400'000u * 24);
}

void add_sample(Recording& recording, std::int64_t time, std::uint32_t stack, std::uint32_t thread = kMain) {
  trace::SampleRecord sample{};
  sample.thread = thread;
  sample.time_ns = kStart + time;
  sample.stack = stack;
  recording.loader.on(sample);
}

struct Built {
  Strings strings;
  Sites sites;
  ProcessLanes lanes;
  KeptLanes kept;

  const Lane* lane(LaneKind kind) const {
    for (const Lane& lane : kept.lanes) {
      if (lane.kind == kind) return &lane;
    }
    return nullptr;
  }
};

Built build(Recording& recording, std::size_t max_events = 1'000'000) {
  const analyze::Timeline timeline = recording.loader.take();
  const analyze::ProcessView view{recording.process, timeline, nullptr, nullptr, nullptr};
  Built built;
  built.lanes = lanes_of(
      {.view = view, .max_events = max_events, .reference_ns = typical_time_ns(timeline).value(), .first_number = 0},
      built.strings, built.sites, built.kept);
  return built;
}

TEST(ProcessLanes, MergeSamplesOfOneLineBelowTheirThread) {
  Recording recording;
  add_loop(recording, 4);
  const std::uint32_t load = recording.stack("load", "/home/me/data.py", 7);
  const std::uint32_t train = recording.stack("main", "/home/me/train.py", 9);
  // 100 us apart; two lines, and then a call in which nothing was sampled.
  for (const std::int64_t time : {100'000, 200'000, 300'000}) add_sample(recording, time, load);
  for (const std::int64_t time : {400'000, 900'000}) add_sample(recording, time, train);
  add_sample(recording, 1'000'000, train);
  add_sample(recording, 100'000, load, kMain + 1);  // of a thread without calls
  add_sample(recording, 1'000'000'000, load);       // behind all records
  const Built built = build(recording);
  const Lane* const python = built.lane(LaneKind::kPython);
  ASSERT_NE(python, nullptr);
  EXPECT_EQ(python->title, "main thread");
  ASSERT_EQ(python->events.size(), 3u);
  const auto expect_event = [&](std::size_t i, std::int64_t start, std::uint64_t duration, const std::string& line) {
    const Event& event = python->events[i];
    // Rounded to less than a sixtieth of the distance between samples.
    EXPECT_NEAR(static_cast<double>(event.start_ns - kStart), static_cast<double>(start), 1'600);
    EXPECT_NEAR(static_cast<double>(event.duration_ns), static_cast<double>(duration), 1'600);
    EXPECT_EQ(event.event_class, Class::kPython);
    EXPECT_EQ(built.strings.all()[event.name], line);
    ASSERT_GT(event.site, 0u);
    EXPECT_EQ(built.sites.all()[event.site - 1u].site, line);
  };
  expect_event(0, 100'000, 300'000, "data.py:7");
  expect_event(1, 400'000, 100'000, "train.py:9");
  expect_event(2, 900'000, 200'000, "train.py:9");
  std::size_t count = 0;
  for (const Lane& lane : built.kept.lanes) count += lane.kind == LaneKind::kPython ? 1 : 0;
  EXPECT_EQ(count, 1u);
}

TEST(ProcessLanes, DrawNoPythonOfOneSampleOrOfOperators) {
  Recording recording;
  add_loop(recording, 4);
  add_sample(recording, 100'000, recording.stack("load", "/home/me/data.py", 7));
  EXPECT_EQ(build(recording).lane(LaneKind::kPython), nullptr);
}

TEST(ProcessLanes, LeaveOutSamplesFarAwayWhereThereIsNoRoom) {
  Recording recording;
  add_loop(recording, 2000);
  const std::uint32_t stacks[] = {recording.stack("a", "/home/me/a.py", 1), recording.stack("b", "/home/me/b.py", 2)};
  for (int i = 0; i < 1000; ++i) add_sample(recording, std::int64_t{i} * 2'000'000, stacks[i % 2]);
  const Built built = build(recording, 6500);
  EXPECT_EQ(built.lanes.left_out, 4500u);
  ASSERT_NE(built.lane(LaneKind::kPython), nullptr);
  EXPECT_LT(built.lane(LaneKind::kPython)->events.size(), 200u);
}

// Steps of 100 us on the host, whose kernels take `kernel_ns` each and so run later and later.
Recording run_ahead(std::int64_t kernel_ns) {
  Recording recording;
  std::int64_t free_at = 0;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = std::int64_t{i} * 100'000;
    recording.range("step " + std::to_string(i), at, at + 95'000);
    for (int k = 0; k < 4; ++k) {
      const auto id = static_cast<std::uint32_t>(4 * i + k + 1);
      const std::int64_t launch = at + std::int64_t{k} * 20'000;
      recording.call(trace::CallKind::kLaunch, "cudaLaunchKernel", id, launch, launch + 5'000);
      const std::int64_t start = std::max(free_at, launch + 6'000);
      free_at = start + kernel_ns;
      recording.kernel("work", id, start, free_at);
    }
  }
  return recording;
}

TEST(ProcessLanes, OpenAroundTheMedianStep) {
  Recording recording = run_ahead(10'000);
  const ProcessLanes lanes = build(recording).lanes;
  ASSERT_TRUE(lanes.median_step && lanes.opening);
  const std::int64_t step_ns = lanes.median_step->end_ns - lanes.median_step->start_ns;
  EXPECT_EQ(lanes.opening->start_ns, lanes.median_step->start_ns - step_ns / 2);
  EXPECT_EQ(lanes.opening->end_ns, lanes.median_step->end_ns + step_ns);
}

TEST(ProcessLanes, OpenWiderWhereTheDeviceIsFarBehind) {
  Recording recording = run_ahead(1'000'000);
  const Built built = build(recording);
  ASSERT_TRUE(built.lanes.median_step && built.lanes.opening);
  const analyze::Interval& opening = *built.lanes.opening;
  EXPECT_LT(opening.start_ns, built.lanes.median_step->start_ns);
  EXPECT_GE(opening.start_ns, kStart);
  // As many kernels begin in it as the two and a half steps issue that would be shown else.
  const Lane* const stream = built.lane(LaneKind::kStream);
  ASSERT_NE(stream, nullptr);
  const auto begun = std::count_if(stream->events.begin(), stream->events.end(), [&](const Event& event) {
    return opening.start_ns <= event.start_ns && event.start_ns < opening.end_ns;
  });
  EXPECT_GE(begun, 10);
  EXPECT_LE(begun, 40);
}

}  // namespace
}  // namespace turnpike::report::html
