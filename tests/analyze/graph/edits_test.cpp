// What each edit does to the edges, and graphs of two ranks that are re-timed together.
#include "analyze/graph/edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/graph_text.h"
#include "analyze/graph/ranks.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using trace::CallKind;

void launch(ProcessBuilder& builder, std::uint32_t correlation, std::int64_t call_us, std::int64_t start_us,
            std::int64_t end_us, std::uint32_t stream = 1, const std::string& name = "_Z6kernelv") {
  builder.call({.kind = CallKind::kLaunch,
                .start_ns = call_us * kUs,
                .end_ns = (call_us + 5) * kUs,
                .correlation = correlation,
                .device = 0});
  builder.kernel(
      {.start_ns = start_us * kUs, .end_ns = end_us * kUs, .correlation = correlation, .stream = stream, .name = name});
}

// Three kernels on a stream, launched 10 us after each other; the host waits for the last.
Graph three_kernels() {
  ProcessBuilder builder;
  launch(builder, 1, 0, 6, 106);
  launch(builder, 2, 10, 108, 208);
  launch(builder, 3, 20, 211, 311);
  builder.call({.kind = CallKind::kSynchronize,
                .start_ns = 40 * kUs,
                .end_ns = 315 * kUs,
                .correlation = 4,
                .name = "cudaDeviceSynchronize",
                .device = 0});
  return graph_of(builder);
}

TEST(Edits, OfAnOperationPassOnWhatItWaitedForOnItsStream) {
  Graph graph = three_kernels();
  ASSERT_EQ(graph.typical.stream, 2500);  // of 2 and 3
  remove_operation(graph, 1);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start removed launch", "work 0 end -> work 1 start 0 stream"));
  EXPECT_THAT(texts_of(graph, graph.edges_to(graph.operation_end(1))),
              ElementsAre("work 1 start -> work 1 end 0 operation"));
  EXPECT_TRUE(is_removed(graph, 1));
  EXPECT_FALSE(is_removed(graph, 0));
  EXPECT_FALSE(is_removed(graph, 2));
  const auto times_ns = retime(graph);
  ASSERT_TRUE(times_ns);
  EXPECT_EQ((*times_ns)[graph.operation_start(2)],
            109'000);  // 3 us behind the first, as it was recorded behind the second
}

TEST(Edits, OfACallLeaveItNoTime) {
  Graph graph = three_kernels();
  remove_call(graph, 1, false);
  EXPECT_THAT(in_call(graph, 1), ElementsAre("call 1 start -> call 1 end 0 call"));
  EXPECT_THAT(before_call(graph, 1), ElementsAre("call 0 end -> call 1 start 5000 program"));
  remove_call(graph, 3, true);
  EXPECT_THAT(before_call(graph, 3), ElementsAre("call 2 end -> call 3 start 0 program"));
  EXPECT_THAT(in_call(graph, 3),
              ElementsAre("call 3 start -> call 3 end 0 call", "work 2 end -> call 3 end removed wait"));
}

TEST(Edits, OfWaitsLeaveTheCallItsOwnWork) {
  Graph graph = three_kernels();
  EXPECT_TRUE(has_waits(graph, 3));
  EXPECT_FALSE(has_waits(graph, 1));
  remove_waits(graph, 3, 700);
  EXPECT_FALSE(has_waits(graph, 3));
  EXPECT_THAT(in_call(graph, 3),
              ElementsAre("call 3 start -> call 3 end 700 call", "work 2 end -> call 3 end removed wait"));
}

TEST(Edits, OfGapsAndDurationsChangeNothingElse) {
  Graph graph = three_kernels();
  EXPECT_EQ(gap_ns(graph, 0), 0);
  EXPECT_EQ(gap_ns(graph, 1), 5000);
  EXPECT_EQ(gap_ns(graph, 3), 15'000);
  set_gap(graph, 3, 400);
  set_gap(graph, 0, 400);  // it has none
  EXPECT_EQ(gap_ns(graph, 3), 400);
  EXPECT_THAT(before_call(graph, 0), ElementsAre("origin -> call 0 start 0 origin"));
  set_duration(graph, 2, 9);
  EXPECT_THAT(texts_of(graph, graph.edges_to(graph.operation_end(2))),
              ElementsAre("work 2 start -> work 2 end 9 operation"));
  EXPECT_THAT(before_work(graph, 2),
              ElementsAre("call 2 start -> work 2 start 6000 launch", "work 1 end -> work 2 start 3000 stream"));
}

TEST(Edits, ThatTakeAnOperationFromItsStreamJoinItsNeighbours) {
  Graph graph = three_kernels();
  detach_from_stream(graph, 1);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start 6000 launch", "work 0 end -> work 1 start removed stream"));
  EXPECT_THAT(before_work(graph, 2),
              ElementsAre("call 2 start -> work 2 start 6000 launch", "work 0 end -> work 2 start 2500 stream"));
  EXPECT_EQ(graph.operations[0].after, 2u);
  EXPECT_EQ(graph.operations[2].before, 0u);
  EXPECT_EQ(graph.operations[1].before, kNone);
  EXPECT_EQ(graph.operations[1].after, kNone);
}

TEST(Edits, ThatTakeTheFirstOrTheLastFromAStreamJoinNothing) {
  Graph first = three_kernels();
  detach_from_stream(first, 0);
  EXPECT_THAT(before_work(first, 1),
              ElementsAre("call 1 start -> work 1 start 6000 launch", "work 0 end -> work 1 start removed stream"));
  EXPECT_EQ(first.operations[1].before, kNone);
  Graph last = three_kernels();
  detach_from_stream(last, 2);
  EXPECT_EQ(last.operations[1].after, kNone);
  EXPECT_EQ(last.operations[0].after, 1u);
}

TEST(Edits, ThatCloseUpLeaveAPauseOfAnyLength) {
  Graph graph = three_kernels();
  close_up(graph, 2, 300);
  EXPECT_THAT(before_work(graph, 2),
              ElementsAre("call 2 start -> work 2 start 6000 launch", "work 1 end -> work 2 start 300 stream"));
  set_duration(graph, 1, 5);
  for (Edge& edge : graph.edges_to(graph.operation_start(1))) {
    if (edge.kind == EdgeKind::kStream) edge.lag_ns = -40;
  }
  close_up(graph, 1, 300);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start 6000 launch", "work 0 end -> work 1 start -40 stream"));
}

TEST(Edits, ThatLaunchEarlierTakeACopysLag) {
  Graph graph = three_kernels();
  graph.typical.copy_launch = 4000;
  launch_from(graph, 2, 0);
  EXPECT_THAT(before_work(graph, 2),
              ElementsAre("call 0 start -> work 2 start 4000 launch", "work 1 end -> work 2 start 3000 stream"));
  graph.typical.copy_launch = 9000;
  launch_from(graph, 1, 0);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 0 start -> work 1 start 6000 launch", "work 0 end -> work 1 start 2000 stream"));
}

TEST(Edits, ThatRemoveEventsRemoveThoseOfTheirPoints) {
  Graph graph = three_kernels();
  graph.edges.push_back({graph.operation_end(0), graph.call_start(3), 5, EdgeKind::kEvent});
  graph.edges.push_back({graph.operation_end(1), graph.call_start(3), 6, EdgeKind::kEvent});
  const std::vector<std::uint32_t> points = {graph.operation_end(0)};
  remove_events_from(graph, points);
  const auto count = graph.edges.size();
  EXPECT_EQ(graph.edges[count - 2].lag_ns, kRemoved);
  EXPECT_EQ(graph.edges[count - 1].lag_ns, 6);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start 6000 launch", "work 0 end -> work 1 start 2000 stream"));
}

TEST(Edits, AreAllTakenBack) {
  Graph original = three_kernels();
  for (Edge& edge : original.edges_to(original.operation_start(1))) {
    if (edge.kind == EdgeKind::kStream) edge.kind = EdgeKind::kEvent;
  }
  original.changed_points.clear();
  Graph graph = original;
  const std::vector<std::uint32_t> points = {graph.operation_end(0)};
  remove_events_from(graph, points);
  detach_from_stream(graph, 2);
  remove_call(graph, 3, true);
  graph.edges.push_back({graph.operation_end(0), graph.call_start(3), 5, EdgeKind::kEdit});
  EXPECT_NE(texts_of(graph, graph.edges), texts_of(original, original.edges));
  restore(graph, original);
  EXPECT_EQ(texts_of(graph, graph.edges), texts_of(original, original.edges));
  EXPECT_EQ(graph.operations[1].after, 2u);
  EXPECT_EQ(graph.operations[2].before, 1u);
}

// An all-reduce that the first rank enters 50 us before the second, whose recording begins 40 us later.
struct TwoGraphs {
  Graph first = rank(1000, 1010);
  Graph second = rank(1040, 1060);
  std::vector<Rendezvous> meetings = {
      {.parts = {{.operation = 0, .transfer_ns = 40 * kUs}, {.operation = 0, .transfer_ns = 40 * kUs}}}};

  static Graph rank(std::int64_t call_us, std::int64_t start_us) {
    ProcessBuilder builder;
    launch(builder, 1, call_us, start_us, 1100, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)");
    launch(builder, 2, call_us + 10, 1102, 1110);
    return graph_of(builder);
  }
  std::vector<std::vector<std::int64_t>> times_ns() const {
    const Graph* graphs[] = {&first, &second};
    return retime_together(graphs, meetings).value_or(std::vector<std::vector<std::int64_t>>());
  }
};

TEST(RetimedTogether, AreRecordingsAsTheyWereMeasured) {
  const TwoGraphs ranks;
  EXPECT_EQ(ranks.times_ns(), (std::vector{ranks.first.measured_ns, ranks.second.measured_ns}));
}

TEST(RetimedTogether, OneThatComesLaterHoldsTheOther) {
  TwoGraphs ranks;
  set_gap(ranks.second, 0, 0);
  for (Edge& edge : ranks.second.edges_to(ranks.second.operation_start(0))) edge.lag_ns += 30 * kUs;
  const auto times_ns = ranks.times_ns();
  EXPECT_EQ(times_ns[0][ranks.first.operation_start(0)], 10 * kUs);
  EXPECT_EQ(times_ns[0][ranks.first.operation_end(0)], 130 * kUs);
  EXPECT_EQ(times_ns[0][ranks.first.operation_end(1)], 140 * kUs);
  EXPECT_EQ(times_ns[1][ranks.second.operation_start(0)], 50 * kUs);
  EXPECT_EQ(times_ns[1][ranks.second.operation_end(0)], 90 * kUs);
}

TEST(RetimedTogether, OneThatComesEarlierLeavesTheOtherAsLast) {
  TwoGraphs ranks;
  for (Edge& edge : ranks.second.edges_to(ranks.second.operation_start(0))) edge.lag_ns = -50 * kUs;
  const auto times_ns = ranks.times_ns();
  EXPECT_EQ(times_ns[1][ranks.second.operation_start(0)], 0);  // not before its recording
  EXPECT_EQ(times_ns[0][ranks.first.operation_end(0)], 50 * kUs);
  EXPECT_EQ(times_ns[1][ranks.second.operation_end(0)], 10 * kUs);
}

TEST(RetimedTogether, WithoutMeetingsKeepTheirDurations) {
  TwoGraphs ranks;
  ranks.meetings.clear();
  for (Edge& edge : ranks.second.edges_to(ranks.second.operation_start(0))) edge.lag_ns += 30 * kUs;
  const auto times_ns = ranks.times_ns();
  EXPECT_EQ(times_ns[0], ranks.first.measured_ns);
  EXPECT_EQ(times_ns[1][ranks.second.operation_end(0)], 90 * kUs);
}

TEST(RetimedTogether, EffectsBeforeTheirCausesAreRefused) {
  TwoGraphs ranks;
  ranks.second.edges.push_back({ranks.second.operation_end(1), ranks.second.call_start(0), 0, EdgeKind::kEdit});
  EXPECT_TRUE(ranks.times_ns().empty());
}

}  // namespace
}  // namespace turnpike::analyze
