// Batches of worker processes come when they come, however long the steps before them take.
#include "analyze/graph/batch_arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/edits.h"
#include "analyze/graph/graph_text.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using trace::CallKind;

// A loop whose steps launch a kernel of 600 us and wait for it; each begins a millisecond after the one before.
struct Loop {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  std::uint32_t program = builder.python("main", "/home/me/train.py", 30);
  std::uint32_t awaiting = builder.stack(
      {builder.python("_MultiProcessingDataLoaderIter._try_get_data", "/lib/torch/utils/data/dataloader.py", 1310),
       builder.python("_BaseDataLoaderIter.__next__", "/lib/torch/utils/data/dataloader.py", 741), program});
  std::uint32_t starting =
      builder.stack({builder.python("DataLoader._get_iterator", "/lib/torch/utils/data/dataloader.py", 420),
                     builder.python("DataLoader.__iter__", "/lib/torch/utils/data/dataloader.py", 500), program});
  std::uint32_t working = builder.stack({builder.python("augment", "/home/me/train.py", 8), program});

  explicit Loop(int steps) {
    for (int index = 0; index < steps; ++index) step(1000 * index);
  }
  void step(std::int64_t at_us) {
    builder.call({.kind = CallKind::kLaunch,
                  .start_ns = at_us * kUs,
                  .end_ns = (at_us + 5) * kUs,
                  .correlation = ++correlation,
                  .name = "cudaLaunchKernel",
                  .device = 0});
    builder.kernel({.start_ns = (at_us + 6) * kUs, .end_ns = (at_us + 606) * kUs, .correlation = correlation});
    builder.call({.kind = CallKind::kSynchronize,
                  .start_ns = (at_us + 10) * kUs,
                  .end_ns = (at_us + 610) * kUs,
                  .correlation = ++correlation,
                  .name = "cudaDeviceSynchronize",
                  .device = 0});
  }
  // In the pause before the step of this number.
  void sample_before(int step, std::uint32_t stack) { builder.sample((1000 * step - 300 + moved_us_++) * kUs, stack); }
  Graph graph() { return graph_of(builder, Lags::kMeasured); }

 private:
  std::int64_t moved_us_ = 0;
};

// The call that begins a step.
constexpr std::uint32_t launch_of(std::uint32_t step) {
  return 2 * step;
}

TEST(BatchArrivals, AreNoneWithoutASampleThatShowsThem) {
  Loop loop(3);
  loop.sample_before(2, loop.working);
  EXPECT_THAT(before_call(loop.graph(), launch_of(2)), ElementsAre("call 3 end -> call 4 start 390000 program"));
}

TEST(BatchArrivals, CountFromTheOriginWhereNobodySawTheWorkersStart) {
  Loop loop(3);
  loop.sample_before(2, loop.awaiting);
  EXPECT_THAT(before_call(loop.graph(), launch_of(2)),
              ElementsAre("call 3 end -> call 4 start 0 program", "origin -> call 4 start 2000000 batch"));
}

TEST(BatchArrivals, LeaveTheThreadItsOwnWork) {
  Loop loop(3);
  for (int i = 0; i < 3; ++i) loop.sample_before(2, loop.awaiting);
  loop.sample_before(2, loop.working);
  EXPECT_THAT(before_call(loop.graph(), launch_of(2)),
              ElementsAre("call 3 end -> call 4 start 97500 program", "origin -> call 4 start 2000000 batch"));
}

TEST(BatchArrivals, CountFromTheBatchForWhichTheWorkersWereStarted) {
  Loop loop(4);
  loop.sample_before(1, loop.starting);
  loop.sample_before(1, loop.awaiting);
  loop.sample_before(3, loop.awaiting);
  const Graph graph = loop.graph();
  EXPECT_THAT(before_call(graph, launch_of(1)), ElementsAre("call 1 end -> call 2 start 390000 program"));
  EXPECT_THAT(before_call(graph, launch_of(3)),
              ElementsAre("call 5 end -> call 6 start 0 program", "call 2 start -> call 6 start 2000000 batch"));
}

// A step takes 1,000 us, of which it waits for 390 us: what it saves elsewhere it waits longer for its batch.
TEST(BatchArrivals, DoNotComeSoonerBecauseAStepTakesLess) {
  Loop loop(3);
  for (const int step : {1, 2}) loop.sample_before(step, loop.awaiting);
  Graph graph = loop.graph();
  EXPECT_EQ(retime(graph)->at(graph.call_start(launch_of(2))), 2000 * kUs);
  for (const std::uint32_t step : {0u, 1u}) set_duration(graph, step, 100 * kUs);
  EXPECT_EQ(retime(graph)->at(graph.call_start(launch_of(2))), 2000 * kUs);
  EXPECT_EQ(pause_ns(graph, launch_of(2)), 390 * kUs);
}

// The two steps before take 610 us each.
TEST(BatchArrivals, ComeAtOnceFromAFasterLoader) {
  Loop loop(3);
  for (const int step : {1, 2}) loop.sample_before(step, loop.awaiting);
  Graph graph = loop.graph();
  for (const std::uint32_t step : {1u, 2u}) end_pause(graph, launch_of(step), 0);
  EXPECT_THAT(before_call(graph, launch_of(2)),
              ElementsAre("call 3 end -> call 4 start 0 program", "origin -> call 4 start removed batch"));
  EXPECT_EQ(pause_ns(graph, launch_of(2)), 0);
  EXPECT_EQ(retime(graph)->at(graph.call_start(launch_of(2))), 2 * 610 * kUs);
}

// Longer steps than before: the batch is there.
TEST(BatchArrivals, WaitForAThreadThatComesLater) {
  Loop loop(3);
  for (const int step : {1, 2}) loop.sample_before(step, loop.awaiting);
  Graph graph = loop.graph();
  for (const std::uint32_t step : {0u, 1u}) set_duration(graph, step, 2000 * kUs);
  EXPECT_EQ(retime(graph)->at(graph.call_start(launch_of(2))), 2 * 2010 * kUs);
}

// One wait of 390 us is less than a twentieth of 10 ms.
TEST(BatchArrivals, AreNoneWhereTheThreadHardlyEverWaits) {
  Loop loop(10);
  loop.sample_before(2, loop.awaiting);
  EXPECT_THAT(before_call(loop.graph(), launch_of(2)), ElementsAre("call 3 end -> call 4 start 390000 program"));
}

TEST(BatchArrivals, AreThoseOfDataLoadersThatBelongToTheThread) {
  Loop loop(3);
  loop.builder.sample(1700 * kUs, loop.awaiting, kMainThread + 1);
  EXPECT_THAT(before_call(loop.graph(), launch_of(2)), ElementsAre("call 3 end -> call 4 start 390000 program"));
}

}  // namespace
}  // namespace turnpike::analyze
