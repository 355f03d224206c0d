// Every stretch without kernels, with its cause, its line and the call that the device waited for.
#include "analyze/sums/idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

// "100-110 sync train.py:7 #5": microseconds, the line, and the correlation of the call.
std::string text_of(const IdleInterval& interval, const ProcessView& view) {
  std::string text = std::to_string(interval.time.start_ns / kUs) + "-" + std::to_string(interval.time.end_ns / kUs) +
                     " " + name_of(interval.cause);
  if (interval.place != kNone) text += " " + view.idle->places()[interval.place].site;
  if (interval.call != kNone) text += " #" + std::to_string(view.timeline.calls[interval.call].correlation);
  return text;
}

struct Watched {
  std::map<std::uint32_t, std::vector<std::string>> of_device;
  bool is_known = false;
  Report report;
};

Watched watch(ProcessBuilder& builder) {
  const LoadedProcess processes[] = {builder.take()};
  Watched watched;
  watched.report = analyze_processes(processes, {}, [&](const ProcessView& view) {
    if (view.idle == nullptr) return;
    watched.is_known = true;
    for (const std::uint32_t device : view.idle->devices()) {
      for (const IdleInterval& one : view.idle->of(device)) watched.of_device[device].push_back(text_of(one, view));
    }
  });
  return watched;
}

// A program that launches on its devices. Times in microseconds.
class Program : public ProcessBuilder {
 public:
  void launch(std::int64_t start, std::int64_t end, std::uint32_t correlation) {
    call({.kind = CallKind::kLaunch,
          .start_ns = start * kUs,
          .end_ns = end * kUs,
          .correlation = correlation,
          .name = "cudaLaunchKernel"});
  }
  void run(std::int64_t start, std::int64_t end, std::uint32_t correlation, std::uint32_t device = 0) {
    kernel({.start_ns = start * kUs, .end_ns = end * kUs, .correlation = correlation, .device = device});
  }
  void wait(std::int64_t start, std::int64_t end, std::uint32_t correlation, std::uint32_t stack) {
    call({.kind = CallKind::kSynchronize,
          .start_ns = start * kUs,
          .end_ns = end * kUs,
          .correlation = correlation,
          .stack = stack,
          .name = "cudaStreamSynchronize",
          .device = 0});
  }
  // Down to pageable memory, in a call that waits for it.
  void fetch(std::int64_t call_start, std::int64_t start, std::int64_t end, std::int64_t call_end,
             std::uint32_t correlation, std::uint32_t stack) {
    call({.start_ns = call_start * kUs, .end_ns = call_end * kUs, .correlation = correlation, .stack = stack});
    copy({.start_ns = start * kUs,
          .end_ns = end * kUs,
          .correlation = correlation,
          .bytes = 4,
          .kind = CopyKind::kDeviceToHost,
          .src = MemoryKind::kDevice,
          .dst = MemoryKind::kPageable});
  }
};

TEST(Idle, IsOfTheWaitAndOfTheLaunchBehindIt) {
  Program program;
  const std::uint32_t line = program.line("train.py", 7);
  program.launch(0, 5, 1);
  program.run(5, 100, 1);
  program.wait(20, 110, 2, line);
  program.launch(150, 156, 3);
  program.run(155, 200, 3);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("100-110 sync train.py:7 #2", "110-155 sync train.py:7 #2"));
}

TEST(Idle, BehindATinyCopyIsOfTheLineOfTheGapBefore) {
  Program program;
  const std::uint32_t line = program.line("train.py", 7);
  program.launch(0, 5, 1);
  program.run(0, 100, 1);
  program.fetch(50, 101, 103, 110, 2, line);
  program.launch(150, 156, 3);
  program.run(155, 200, 3);
  EXPECT_THAT(watch(program).of_device[0],
              ElementsAre("100-101 copy train.py:7 #2", "101-103 copies_only train.py:7 #2",
                          "103-110 copy train.py:7 #2", "110-155 copy train.py:7 #2"));
}

TEST(Idle, BehindQueuedWorkIsOfNoCall) {
  Program program;
  program.launch(0, 5, 1);
  program.launch(5, 10, 2);
  program.launch(90, 140, 3);
  program.run(0, 50, 1);
  program.run(52, 100, 2);
  program.run(130, 140, 3);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-52 between_kernels", "100-130 launch #3"));
}

TEST(Idle, BehindQueuedWorkIsOfTheOtherGpuThatIsAtWork) {
  Program program;
  program.launch(0, 1, 1);
  program.launch(1, 2, 2);
  program.launch(2, 3, 3);
  program.run(0, 95, 1, 0);
  program.run(0, 20, 2, 1);
  program.run(100, 120, 3, 1);
  EXPECT_THAT(watch(program).of_device[1], ElementsAre("20-100 other_device"));
}

TEST(Idle, MayGoOnAMomentAfterTheOtherGpuIsDone) {
  const IntervalSet work({{0, 10 * kUs}});
  EXPECT_TRUE(explains_waiting(work, {0, 30 * kUs}));
  EXPECT_FALSE(explains_waiting(work, {0, 31 * kUs}));
  EXPECT_FALSE(explains_waiting(work, {10 * kUs, 30 * kUs})) << "it is done before";
  const IntervalSet long_work({{0, 51 * kUs}});
  EXPECT_TRUE(explains_waiting(long_work, {0, 100 * kUs}));
  EXPECT_FALSE(explains_waiting(long_work, {0, 102 * kUs}));
}

TEST(Idle, BehindACopyBetweenGpusIsACopyOfBoth) {
  Program program;
  const std::uint32_t line = program.line("train.py", 7);
  program.launch(0, 1, 1);
  program.launch(1, 2, 2);
  program.call({.start_ns = 2 * kUs, .end_ns = 3 * kUs, .correlation = 3, .stack = line});
  program.launch(3, 4, 4);
  program.run(0, 50, 1, 0);
  program.run(0, 20, 2, 1);
  program.copy({.start_ns = 50 * kUs,
                .end_ns = 90 * kUs,
                .correlation = 3,
                .bytes = 4,
                .kind = CopyKind::kPeerToPeer,
                .src = MemoryKind::kDevice,
                .dst = MemoryKind::kDevice,
                .src_device = 0,
                .dst_device = 1,
                .is_async = true});
  program.run(92, 100, 4, 1);
  Watched watched = watch(program);
  EXPECT_THAT(watched.of_device[0], ElementsAre("50-90 copies_only train.py:7 #3", "90-100 unknown"));
  EXPECT_THAT(watched.of_device[1],
              ElementsAre("20-50 other_device", "50-90 copies_only train.py:7 #3", "90-92 between_kernels"));
}

TEST(Idle, OfALateCopyIsOfItsLine) {
  Program program;
  program.launch(0, 5, 1);
  program.run(0, 50, 1);
  program.call({.start_ns = 90 * kUs, .end_ns = 95 * kUs, .correlation = 2, .stack = program.line("train.py", 9)});
  program.copy({.start_ns = 94 * kUs, .end_ns = 99 * kUs, .correlation = 2, .bytes = 8, .is_async = true});
  program.launch(99, 100, 3);
  program.run(99, 120, 3);
  EXPECT_THAT(watch(program).of_device[0],
              ElementsAre("50-94 launch train.py:9 #2", "94-99 copies_only train.py:9 #2"));
}

TEST(Idle, OfAPauseIsWhereSamplesFoundTheHost) {
  Program program;
  const std::uint32_t line = program.line("train.py", 8);
  const std::uint32_t other = program.line("train.py", 9);
  program.launch(0, 5, 1);
  program.run(0, 50, 1);
  program.sample(1 * kMs, other);
  program.sample(2 * kMs, line);
  program.sample(3 * kMs, line);
  program.sample(3 * kMs, other, kMainThread + 1);  // no thread of the host
  program.sample(3 * kMs + 1, other, kMainThread + 1);
  program.launch(5000, 5005, 2);
  program.run(5005, 5050, 2);
  // The call itself is issuing, up to its kernel.
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-5000 unknown train.py:8 #2", "5000-5005 launch #2"));
}

TEST(Idle, BeforeABatchIsOfTheLineThatTakesIt) {
  Program program;
  const std::uint32_t line = program.line("train.py", 3);
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t start = step * 10'000;
    program.range("step", start * kUs, (start + 10'000) * kUs);
    program.call(
        {.start_ns = (start + 4000) * kUs, .end_ns = (start + 4010) * kUs, .correlation = 2 * step + 1, .stack = line});
    program.copy({.start_ns = (start + 4010) * kUs,
                  .end_ns = (start + 4020) * kUs,
                  .correlation = 2 * step + 1,
                  .bytes = 8,
                  .is_async = true});
    program.launch(start + 4020, start + 4030, 2 * step + 2);
    program.run(start + 4030, start + 10'000, 2 * step + 2);
  }
  const auto stretches = watch(program).of_device[0];
  EXPECT_THAT(stretches, ::testing::Contains("10000-14000 input train.py:3 #3"));
  EXPECT_THAT(stretches, ::testing::Contains("14000-14010 launch train.py:3 #3"));
}

TEST(Idle, IsEachDevicesOwn) {
  Program program;
  const std::uint32_t line = program.line("train.py", 7);
  program.launch(0, 5, 1);
  program.run(0, 100, 1, 0);
  program.launch(5, 8, 2);
  program.run(10, 30, 2, 1);
  program.wait(40, 120, 3, line);
  auto watched = watch(program);
  EXPECT_THAT(watched.of_device[0], IsEmpty());
  // From the first work of any device to the last, whenever the device itself began and ended.
  EXPECT_THAT(watched.of_device.at(1), ElementsAre("0-10 launch #2", "30-40 launch", "40-100 sync train.py:7 #3"));
}

// Of copies at once, the first one counts to its end.
TEST(Idle, UnderCopiesIsOfTheirLines) {
  Program program;
  const std::uint32_t up = program.line("train.py", 4);
  const std::uint32_t down = program.line("train.py", 5);
  program.launch(0, 5, 1);
  program.call({.start_ns = 5 * kUs, .end_ns = 6 * kUs, .correlation = 2, .stack = up});
  program.call({.start_ns = 6 * kUs, .end_ns = 7 * kUs, .correlation = 3, .stack = down});
  program.run(10, 50, 1);
  program.copy({.start_ns = 40 * kUs, .end_ns = 70 * kUs, .correlation = 2, .bytes = 8, .is_async = true});
  program.copy({.start_ns = 60 * kUs, .end_ns = 90 * kUs, .correlation = 3, .bytes = 8, .stream = 9, .is_async = true});
  program.run(80, 100, 1);
  EXPECT_THAT(watch(program).of_device[0],
              ElementsAre("50-70 copies_only train.py:4 #2", "70-80 copies_only train.py:5 #3"));
}

TEST(Idle, IsKnownWithoutKernelsWhereNoneWereLaunched) {
  Program program;
  program.fetch(0, 5, 10, 20, 1, program.line("train.py", 7));
  const auto watched = watch(program);
  EXPECT_THAT(watched.of_device.at(0), ElementsAre("5-10 copies_only train.py:7 #1"));
  EXPECT_THAT(watched.report.idle, SizeIs(1));
}

TEST(Idle, IsUnknownWhereKernelsWereNotRecorded) {
  ProcessBuilder builder("transfers");
  builder.copy({.start_ns = 0, .end_ns = 10 * kUs, .bytes = 8});
  const auto watched = watch(builder);
  EXPECT_FALSE(watched.is_known);
  EXPECT_THAT(watched.report.idle, IsEmpty());
}

TEST(Idle, OfKernelsWithoutCallsIsOfNoCall) {
  Program program;
  program.run(0, 50, 11);
  program.run(60, 90, 12);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-60 unknown"));
}

TEST(Idle, BehindALaunchWithoutItsKernelIsUnrecorded) {
  Program program;
  program.launch(0, 5, 1);
  program.run(5, 100, 1);
  program.launch(110, 115, 2);
  program.launch(500, 505, 3);
  program.run(505, 600, 3);
  program.launch(650, 655, 4);
  program.run(655, 700, 4);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("100-115 launch #3", "115-505 unrecorded", "600-655 launch #4"));
}

// Then it was done, whatever it was.
TEST(Idle, BehindALaunchWithoutItsKernelIsUnrecordedUntilTheHostHasWaited) {
  Program program;
  program.launch(0, 5, 1);
  program.run(5, 100, 1);
  program.launch(110, 115, 2);
  program.wait(120, 300, 3, program.line("train.py", 7));
  program.launch(500, 505, 4);
  program.run(505, 600, 4);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("100-115 launch #4", "115-300 unrecorded", "300-505 launch #4"));
}

TEST(Idle, OfALaunchThatWasQueuedBehindALostOneIsUnrecorded) {
  Program program;
  program.launch(0, 5, 1);
  program.launch(5, 10, 2);
  program.launch(10, 15, 3);
  program.run(5, 100, 1);
  program.run(400, 500, 3);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("100-400 unrecorded"));
}

// A device that has nothing to do lets a synchronisation return at once.
TEST(Idle, OfALongSynchronisationIsUnrecorded) {
  Program program;
  program.launch(0, 5, 1);
  program.run(5, 100, 1);
  program.wait(110, 5000, 2, program.line("train.py", 7));
  program.launch(5010, 5015, 3);
  program.run(5015, 5100, 3);
  EXPECT_THAT(watch(program).of_device[0],
              ElementsAre("100-110 launch #3", "110-5000 unrecorded", "5000-5015 launch #3"));
}

TEST(Idle, OfADownloadThatDoesNotBeginIsUnrecorded) {
  Program program;
  program.launch(0, 5, 1);
  program.run(5, 100, 1);
  program.fetch(110, 9000, 9010, 9020, 2, program.line("train.py", 7));
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("100-110 launch train.py:7 #2", "110-2110 copy train.py:7 #2",
                                                       "2110-9000 unrecorded", "9000-9010 copies_only train.py:7 #2"));
}

TEST(Idle, InADataLoaderIsForTheNextBatch) {
  Program program;
  const std::uint32_t loader = program.stack({program.operator_frame("enumerate(DataLoader)#_Iter.__next__")});
  const std::uint32_t line = program.line("train.py", 9);
  program.launch(0, 5, 1);
  program.run(0, 50, 1);
  for (std::int64_t at = 1; at < 6; ++at) program.sample(at * kMs, loader);
  for (std::int64_t at = 6; at < 10; ++at) program.sample(at * kMs, line);
  program.launch(10'000, 10'005, 2);
  program.run(10'005, 10'050, 2);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-1000 unknown #2", "1000-6000 input cudaLaunchKernel #2",
                                                       "6000-10000 unknown train.py:9 #2", "10000-10005 launch #2"));
}

TEST(Idle, InALongCallIsWorkOfTheCpu) {
  Program program;
  program.launch(0, 5, 1);
  program.run(0, 50, 1);
  program.launch(60, 5000, 2);
  program.run(5000, 5050, 2);
  program.launch(5060, 5100, 3);
  program.run(5100, 5150, 3);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-60 launch #2", "60-5000 unknown #2", "5050-5100 launch #3"));
}

TEST(Idle, OfACopyWithoutTimesIsUnrecorded) {
  Program program;
  program.launch(0, 5, 1);
  program.run(0, 50, 1);
  program.fetch(60, 900, 800, 500, 2, program.line("train.py", 7));
  program.launch(510, 515, 3);
  program.run(515, 550, 3);
  EXPECT_THAT(watch(program).of_device[0], ElementsAre("50-60 launch #3", "60-500 unrecorded", "500-515 launch #3"));
}

TEST(Idle, OfNothingIsNone) {
  ProcessBuilder builder;
  EXPECT_THAT(watch(builder).of_device, IsEmpty());
}

TEST(IdleSites, AddUpByDeviceCauseAndLine) {
  Program program;
  const std::uint32_t line = program.line("train.py", 7);
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t start = step * 1000;
    program.range("step", start * kUs, (start + 1000) * kUs);
    program.launch(start, start + 5, 2 * step + 1);
    program.run(start + 5, start + 900, 2 * step + 1);
    program.wait(start + 10, start + 920, 2 * step + 2, line);
  }
  program.wait(5000, 5100, 20, line);
  program.launch(5100, 5105, 21);
  program.run(5105, 5200, 21);
  const Report report = watch(program).report;
  ASSERT_THAT(report.idle, SizeIs(2));
  EXPECT_EQ(report.idle[0].cause, IdleCause::kSync);
  EXPECT_EQ(report.idle[0].site, "train.py:7");
  EXPECT_EQ(report.idle[0].line, 7u);
  EXPECT_EQ(report.idle[0].device, 0u);
  EXPECT_EQ(report.idle[0].in_steps_ns, 4 * (20 + 80) * kUs + 3 * 5 * kUs);
  EXPECT_EQ(report.idle[1].cause, IdleCause::kLaunch);  // before the first kernel, without a line
  EXPECT_EQ(report.idle[1].site, "");
  EXPECT_EQ(report.idle[1].in_steps_ns, 5 * kUs);
}

}  // namespace
}  // namespace turnpike::analyze
