// The graph of a run: re-timed as it is, and changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/graph/build.h"
#include "analyze/graph/edits.h"
#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

constexpr int kRetimedSteps = 12;

// Each step: the host works for 200 us, a kernel of 300 us, and its result is read.
StepProgram reading_its_result() {
  StepProgram program;
  const std::uint32_t item = program.stack(9, {"_local_scalar_dense", "item"});
  program.steps(kRetimedSteps, [&](int) {
    program.work(200 * kUs);
    program.kernel(300 * kUs);
    program.download({.stack = item, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
  });
  return program;
}

// Each step: an upload of page-locked memory that takes 250 us, and a kernel of 300 us behind it on the same stream.
StepProgram uploading_on_the_compute_stream() {
  StepProgram program;
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(kRetimedSteps, [&](int) {
    program.upload({.stack = line, .bytes = 12'500'000, .duration_ns = 250 * kUs});
    program.kernel(300 * kUs);
  });
  return program;
}

TEST(Graph, RetimesAnUnchangedRunAsItWasMeasured) {
  for (StepProgram program : {reading_its_result(), uploading_on_the_compute_stream()}) {
    const Played played(std::move(program));
    ASSERT_GT(played.model().measured_step_ns(), 0);
    EXPECT_NEAR(played.model().retimed_step_ns(), played.model().measured_step_ns(),
                0.001 * played.model().measured_step_ns());
    EXPECT_EQ(played.model().graph().contradicted_count, 0u);
  }
}

TEST(Graph, ExplainsARunByItsDependenciesAlone) {
  const Played played(reading_its_result());
  const Graph typical = played.typical();
  const auto times_ns = retime(typical);
  ASSERT_TRUE(times_ns);
  EXPECT_NEAR(step_ns(typical, *times_ns), played.model().measured_step_ns(), 0.02 * played.model().measured_step_ns());
}

TEST(Graph, RefusesEffectsThatComeBeforeTheirCauses) {
  const Played played(reading_its_result());
  Graph graph = played.model().graph();
  graph.edges.push_back({graph.call_end(5), graph.call_start(2), 0, EdgeKind::kEdit});
  EXPECT_FALSE(retime(graph));
  Scenario scenario(played.model());
  scenario.apply(edited_edges(graph, played.model().graph()), 0);
  EXPECT_FALSE(scenario.retime());
}

// Whether it makes no difference that the order of the points is known.
void expect_the_same_without_order(Graph graph, const std::string& what) {
  ASSERT_NE(graph.order, nullptr) << what;
  const auto times_ns = retime(graph);
  graph.order = nullptr;
  EXPECT_EQ(times_ns, retime(graph)) << what;
}

TEST(Graph, RetimesChangesInTheOrderOfTheRecordingAsInAnyOther) {
  for (StepProgram program : {reading_its_result(), uploading_on_the_compute_stream()}) {
    const Played played(std::move(program));
    expect_the_same_without_order(played.model().graph(), "unchanged");
    int known = 0;
    for (const Change change : all_changes()) {
      const NamedChange named[] = {{change, calls_at(played.model(), "")}};
      Scenario scenario(played.model());
      if (!scenario.try_changes(played.model(), named)) continue;
      ++known;
      expect_the_same_without_order(scenario.graph(), name_of(change));
    }
    EXPECT_GT(known, 5);
  }
}

TEST(Graph, RetimesAnEditThatLeadsBackInTheOrderOfTheRecording) {
  const Played played(uploading_on_the_compute_stream());
  Graph graph = played.model().graph();
  std::vector<bool> leads_on(graph.point_count());
  for (const Edge& edge : graph.edges) leads_on[edge.from] = true;
  const std::uint32_t last = graph.order->back();
  const auto found = std::find_if(graph.order->begin(), graph.order->end(),
                                  [&](std::uint32_t point) { return !leads_on[point] && point != last; });
  ASSERT_NE(found, graph.order->end());
  graph.edges.push_back({last, *found, 70 * kUs, EdgeKind::kEdit});
  expect_the_same_without_order(graph, "back");
  const auto times_ns = retime(graph);
  ASSERT_TRUE(times_ns);
  EXPECT_GE((*times_ns)[*found], (*times_ns)[last] + 70 * kUs);
}

TEST(Graph, IsOfTheStepsAlone) {
  const Played played(reading_its_result());
  EXPECT_EQ(played.model().step_count(), static_cast<std::size_t>(kRetimedSteps));
  EXPECT_EQ(played.model().graph().operations.size(), 2u * kRetimedSteps);
}

// Each step: a kernel of 300 us, an upload of 250 us on a side stream, a kernel of 100 us; no event between them.
StepProgram uploading_on_a_side_stream(bool is_blocking) {
  StepProgram program;
  if (is_blocking) {
    program.make_streams_blocking();
  } else {
    program.builder().default_stream(0, kComputeStream);
  }
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(kRetimedSteps, [&](int) {
    program.kernel(300 * kUs);
    program.upload({.stack = line, .bytes = 12'500'000, .duration_ns = 250 * kUs, .stream = kSideStream});
    program.kernel(100 * kUs);
  });
  return program;
}

std::size_t count_edges(const Graph& graph, EdgeKind kind) {
  std::size_t count = 0;
  for (const Edge& edge : graph.edges) count += edge.kind == kind ? 1 : 0;
  return count;
}

TEST(DefaultStream, WaitsForBlockingStreamsAndTheyForIt) {
  const Played played(uploading_on_a_side_stream(true));
  EXPECT_NEAR(played.measured_us(), 653, 5);
  EXPECT_GE(count_edges(played.model().graph(), EdgeKind::kDefaultStream), 2u * kRetimedSteps - 2);
  EXPECT_NEAR(played.model().retimed_step_ns(), played.model().measured_step_ns(),
              0.001 * played.model().measured_step_ns());
  const Graph typical = played.typical();
  EXPECT_NEAR(step_ns(typical, *retime(typical)), played.model().measured_step_ns(),
              0.02 * played.model().measured_step_ns());
}

TEST(DefaultStream, GoesOnEarlierWhenABlockingStreamHasNothingToDo) {
  const Played played(uploading_on_a_side_stream(true));
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), 402, 10);
}

TEST(DefaultStream, StreamsThatRunBesideItAreNonBlocking) {
  const Played played(uploading_on_a_side_stream(false));
  EXPECT_NEAR(played.measured_us(), 402, 5);
  EXPECT_EQ(count_edges(played.model().graph(), EdgeKind::kDefaultStream), 0u);
}

TEST(DefaultStream, StreamsOrderedByTheHostAreTakenForNonBlocking) {
  StepProgram program;
  program.make_streams_blocking();
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(kRetimedSteps, [&](int) {
    program.kernel(300 * kUs);
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
    program.upload({.stack = line, .bytes = 1000, .duration_ns = 2 * kUs, .stream = kSideStream});
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
  });
  const Played played(std::move(program));
  EXPECT_EQ(count_edges(played.model().graph(), EdgeKind::kDefaultStream), 0u);
}

TEST(WhatIf, WithoutAReadTheLongerOfHostAndDeviceRemains) {
  const Played played(reading_its_result());
  EXPECT_GT(played.measured_us(), 500);
  const double predicted_us = played.predicted_us({Change::kRemoveSync});
  EXPECT_GT(predicted_us, 295);
  EXPECT_LT(predicted_us, 320);
}

TEST(WhatIf, AReadOneStepLaterCostsNoWait) {
  const Played played(reading_its_result());
  EXPECT_LT(played.predicted_us({Change::kDeferSync}), 330);
}

TEST(WhatIf, APrefetchedUploadHidesBehindTheKernel) {
  const Played played(uploading_on_the_compute_stream());
  EXPECT_NEAR(played.measured_us(), 550, 15);
  EXPECT_NEAR(played.predicted_us({Change::kPrefetch}), 300, 15);
}

TEST(WhatIf, AnUploadBeforeTheLoopIsGone) {
  const Played played(uploading_on_the_compute_stream());
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), 300, 10);
}

TEST(WhatIf, WhatOneChangeTookAwayAnotherDoesNotBringBack) {
  const Played played(uploading_on_the_compute_stream());
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload, Change::kPin, Change::kMergeCopies}),
              played.predicted_us({Change::kHoistUpload}), 1);
}

TEST(WhatIf, ACopyDoesNotCrossFasterThanTheLink) {
  StepProgram program;
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(kRetimedSteps, [&](int) {
    program.upload({.stack = line,
                    .bytes = 10'000'000,
                    .duration_ns = 1000 * kUs,
                    .host = trace::MemoryKind::kPageable,
                    .wait = Wait::kInCall});
    program.kernel(100 * kUs);
  });
  const Played played(std::move(program));
  // 10 MB at 50 GB/s take 200 us, and the kernel waits for them.
  EXPECT_NEAR(played.predicted_us({Change::kPin}), 300, 15);
}

TEST(WhatIf, ChangesThatApplyToNothingChangeNothing) {
  const Played played(reading_its_result());
  EXPECT_NEAR(played.predicted_us({Change::kHoistUpload}), played.measured_us(), 1);
  Graph graph = played.model().graph();
  EXPECT_EQ(apply(played.model(), graph, Change::kSideStreams, {}).calls.size(), 0u);
}

TEST(WhatIf, FindsTheCallsOfALine) {
  const Played played(reading_its_result());
  EXPECT_EQ(calls_at(played.model(), "train.py:9").size(), 2u * kRetimedSteps);
  EXPECT_EQ(calls_at(played.model(), "me/train.py:9").size(), 2u * kRetimedSteps);
  EXPECT_TRUE(calls_at(played.model(), "train.py:10").empty());
  EXPECT_TRUE(calls_at(played.model(), "other.py:9").empty());
}

TEST(WhatIf, EveryChangeHasANameThatFindsIt) {
  for (const Change change : all_changes()) EXPECT_EQ(change_named(name_of(change)), change) << name_of(change);
  EXPECT_FALSE(change_named("make_it_fast"));
}

}  // namespace
}  // namespace turnpike::analyze
