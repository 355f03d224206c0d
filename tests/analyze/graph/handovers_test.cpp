// Which threads wait for each other, and what shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/edits.h"
#include "analyze/graph/graph_text.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using trace::CallKind;

constexpr std::uint32_t kProducer = kMainThread + 1;

// A thread brings up a batch a millisecond, and the main thread launches a kernel for each, `late_us` later.
struct Staging {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  std::uint32_t waiting = builder.stack({builder.python("Condition.wait", "/usr/lib/python3.12/threading.py", 355),
                                         builder.python("Queue.get", "/usr/lib/python3.12/queue.py", 171)});
  std::uint32_t working = builder.stack({builder.python("augment", "/home/me/train.py", 8)});

  // `stream`: of the copy; kernels are on stream 0.
  void batch(int index, std::uint32_t stream, std::int64_t late_us = 50) {
    const std::int64_t at_us = 1000 * index;
    builder.call({.start_ns = at_us * kUs,
                  .end_ns = (at_us + 500) * kUs,
                  .correlation = ++correlation,
                  .thread = kProducer,
                  .device = 0});
    builder.copy({.start_ns = (at_us + 6) * kUs,
                  .end_ns = (at_us + 495) * kUs,
                  .correlation = correlation,
                  .bytes = 1000,
                  .stream = stream});
    const std::int64_t launch_us = at_us + 500 + late_us;
    builder.call({.kind = CallKind::kLaunch,
                  .start_ns = launch_us * kUs,
                  .end_ns = (launch_us + 5) * kUs,
                  .correlation = ++correlation,
                  .name = "cudaLaunchKernel",
                  .device = 0});
    builder.kernel({.start_ns = (launch_us + 6) * kUs, .end_ns = (launch_us + 100) * kUs, .correlation = correlation});
  }
  void sample(std::int64_t at_us, std::uint32_t stack) { builder.sample(at_us * kUs, stack); }
  Graph graph() { return graph_of(builder, Lags::kMeasured); }
};

Staging staging(int batches, std::uint32_t stream, std::int64_t late_us = 50) {
  Staging program;
  for (int i = 0; i < batches; ++i) program.batch(i, stream, late_us);
  return program;
}

// The launch of the third batch.
constexpr std::uint32_t kThird = 5;

TEST(Handovers, NeedEvidence) {
  EXPECT_THAT(before_call(staging(4, 20).graph(), kThird), ElementsAre("call 3 end -> call 5 start 995000 program"));
}

TEST(Handovers, ShowInTheOrderOfTheWork) {
  EXPECT_THAT(before_call(staging(4, 0).graph(), kThird),
              ElementsAre("call 3 end -> call 5 start 0 program", "call 4 end -> call 5 start 50000 signal"));
  // Twice may be chance.
  EXPECT_THAT(before_call(staging(3, 0).graph(), kThird), ElementsAre("call 3 end -> call 5 start 995000 program"));
}

TEST(Handovers, AreNoneIfTheThreadGoesOnLongAfter) {
  EXPECT_THAT(before_call(staging(4, 0, 200).graph(), kThird), Contains("call 4 end -> call 5 start 200000 signal"));
  EXPECT_THAT(before_call(staging(4, 0, 201).graph(), kThird),
              ElementsAre("call 3 end -> call 5 start 995000 program"));
}

TEST(Handovers, AreNoneInMostlyUnorderedPauses) {
  Staging program = staging(5, 0);
  for (int i = 5; i < 8; ++i) program.batch(i, 20);
  EXPECT_THAT(before_call(program.graph(), kThird), ElementsAre("call 3 end -> call 5 start 995000 program"));
}

TEST(Handovers, ShowInSamplesOfAWait) {
  Staging program = staging(2, 20);
  program.batch(2, 20);
  program.sample(1600, program.waiting);
  EXPECT_THAT(before_call(program.graph(), kThird),
              ElementsAre("call 3 end -> call 5 start 0 program", "call 4 end -> call 5 start 50000 signal"));
}

// Of a pause of 995 us, in a quarter of the samples the thread works.
TEST(Handovers, LeaveTheThreadItsOwnWork) {
  Staging program = staging(3, 20);
  for (const std::int64_t at_us : {1700, 1900, 2100}) program.sample(at_us, program.waiting);
  program.sample(2300, program.working);
  EXPECT_THAT(before_call(program.graph(), kThird), Contains("call 3 end -> call 5 start 248750 program"));
}

TEST(Handovers, AreNoneWhereSamplesShowWorkAlone) {
  Staging program = staging(4, 0);
  for (const std::int64_t at_us : {1700, 2100}) program.sample(at_us, program.working);
  EXPECT_THAT(before_call(program.graph(), kThird), ElementsAre("call 3 end -> call 5 start 995000 program"));
}

TEST(Handovers, EndWithThePause) {
  Graph graph = staging(4, 0).graph();
  EXPECT_EQ(pause_ns(graph, kThird), 995 * kUs);
  EXPECT_EQ(pause_ns(graph, 4), 500 * kUs);  // the producer's own
  end_pause(graph, kThird, 100);
  EXPECT_THAT(before_call(graph, kThird),
              ElementsAre("call 3 end -> call 5 start 100 program", "call 4 end -> call 5 start removed signal"));
  EXPECT_EQ(pause_ns(graph, kThird), 100);
}

}  // namespace
}  // namespace turnpike::analyze
