// Loading records: order, joining, captured lines.
#include "analyze/timeline.h"

#include <gtest/gtest.h>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

TEST(Timeline, SortsWhatComesInAnyOrder) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 30, .end_ns = 40, .correlation = 2});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 1});
  builder.kernel({.start_ns = 7, .end_ns = 9, .correlation = 1});
  builder.kernel({.start_ns = 3, .end_ns = 4, .correlation = 2});
  builder.range("b", 8, 9);
  builder.range("a", 2, 9);
  builder.call({.start_ns = 5, .end_ns = 6, .correlation = 2});
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 1});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.calls.front().start_ns, 1);
  EXPECT_EQ(timeline.transfers.front().start_ns, 10);
  EXPECT_EQ(timeline.kernels.front().start_ns, 3);
  EXPECT_EQ(timeline.ranges.front().start_ns, 2);
}

TEST(Timeline, JoinsTransfersToTheirCalls) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 30, .end_ns = 40, .correlation = 9});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 4});
  builder.call({.start_ns = 5, .end_ns = 6, .correlation = 9});
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 4});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.transfers[0].call, 0u);
  EXPECT_EQ(timeline.transfers[1].call, 1u);
  EXPECT_EQ(timeline.unmatched_count, 0u);
}

TEST(Timeline, JoinsEveryTransferOfAGraphToItsLaunch) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kGraphLaunch, .start_ns = 1, .end_ns = 2, .correlation = 4});
  for (int i = 0; i < 3; ++i) builder.copy({.start_ns = 10 + i, .end_ns = 20 + i, .correlation = 4, .graph_node = 5});
  for (const Transfer& transfer : builder.take().timeline.transfers) EXPECT_EQ(transfer.call, 0u);
}

TEST(Timeline, CountsDeviceWorkWithoutItsCall) {
  ProcessBuilder builder;
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 1});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 2});
  builder.kernel({.start_ns = 10, .end_ns = 20, .correlation = 3});
  builder.kernel({.start_ns = 30, .end_ns = 40, .correlation = 1});
  builder.migration(trace::MigrationKind::kHostToDevice, 50, 60, 4096);  // has none by its nature
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.unmatched_count, 2u);
  EXPECT_EQ(timeline.transfers[0].call, kNone);
}

TEST(Timeline, CountsCopiesWithoutADirection) {
  ProcessBuilder builder;
  builder.copy({.correlation = 1, .kind = trace::CopyKind::kUnknown, .src = trace::MemoryKind::kManaged});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.unclassified_count, 1u);
  EXPECT_TRUE(timeline.transfers.empty());
}

TEST(Timeline, LearnsTheDeviceOfACallFromItsContext) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 1, .end_ns = 2, .context = 2});
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 3, .end_ns = 4, .context = 9});
  builder.kernel({.start_ns = 10, .end_ns = 20, .device = 1});  // context 2
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.calls[0].device, 1u);
  EXPECT_EQ(timeline.calls[1].device, trace::kUnknownId);
}

TEST(Timeline, TakesUnknownAndBackwardTimesForUnknown) {
  ProcessBuilder builder;
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime});
  builder.copy({.start_ns = 9, .end_ns = 3});
  builder.copy({.start_ns = 9, .end_ns = 9});
  const Timeline timeline = builder.take().timeline;
  EXPECT_FALSE(timeline.transfers[0].has_times());
  EXPECT_FALSE(timeline.transfers[1].has_times());
  EXPECT_TRUE(timeline.transfers[2].has_times());
}

TEST(Timeline, LeavesOutMarks) {
  ProcessBuilder builder;
  builder.range("mark", 5, 5);
  EXPECT_TRUE(builder.take().timeline.ranges.empty());
}

TEST(Timeline, FollowsClonesToTheCapturedStack) {
  ProcessBuilder builder;
  builder.graph_node(3, trace::kNoId, 2);  // the clone of a clone, defined before what it was made from
  builder.graph_node(1, 42, 0);
  builder.graph_node(2, trace::kNoId, 1);
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.captured_stack(1), 42u);
  EXPECT_EQ(timeline.captured_stack(3), 42u);
  EXPECT_EQ(timeline.captured_stack(4), trace::kNoId);
}

TEST(Timeline, DoesNotFollowClonesInACircle) {
  ProcessBuilder builder;
  builder.graph_node(1, trace::kNoId, 2);
  builder.graph_node(2, trace::kNoId, 1);
  EXPECT_EQ(builder.take().timeline.captured_stack(1), trace::kNoId);
}

TEST(Timeline, OfNothingIsEmpty) {
  const Timeline timeline = TimelineLoader().take();
  EXPECT_TRUE(timeline.calls.empty());
  EXPECT_EQ(timeline.unmatched_count, 0u);
}

}  // namespace
}  // namespace turnpike::analyze
