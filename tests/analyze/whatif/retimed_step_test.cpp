// The schedule of one step with a change, computed by hand.
#include "analyze/whatif/retimed_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSteps = 12;

// Each step: 200 us of work on the host, a kernel of 300, and a read that waits for it.
Played reading() {
  StepProgram program;
  const std::uint32_t line = program.stack(5, {"copy_", "to_dtype_layout"});
  program.steps(kSteps, [&](int) {
    program.work(200 * kUs);
    program.kernel(300 * kUs);
    program.download({.stack = line, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
  });
  return Played(std::move(program));
}

std::int64_t length_ns(const Interval& time) {
  return time.end_ns - time.start_ns;
}

std::optional<RetimedStep> retimed(const Played& played, std::vector<Change> changes) {
  std::vector<NamedChange> named;
  for (const Change change : changes) named.push_back({change, calls_at(played.model(), "")});
  return retimed_step(played.model(), named);
}

TEST(ShownStep, IsTheMedianOfTheSecondHalf) {
  StepProgram program;
  // Of the steps 6 to 11, which take 300 + 10 * step, the third shortest.
  program.steps(kSteps, [&](int step) {
    program.kernel((300 + 10 * step) * kUs);
    program.sync(trace::kNoId, "cudaStreamSynchronize");
  });
  const Played played(std::move(program));
  const auto shown = shown_step(played.model());
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->index, 8u);
  EXPECT_EQ(shown->time.start_ns, played.model().steps()->starts_ns[8]);
  EXPECT_EQ(shown->time.end_ns, played.model().steps()->starts_ns[9]);
}

TEST(RetimedStep, WithoutAChangeIsTheRecordedOne) {
  const Played played = reading();
  const auto step = retimed(played, {});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->work, step->recorded.work);
  EXPECT_EQ(length_ns(step->work), 514 * kUs);
  EXPECT_DOUBLE_EQ(step->predicted_step_ns, 514.0 * kUs);
  const Timeline& timeline = played.model().timeline();
  ASSERT_THAT(step->kernels, SizeIs(1));
  EXPECT_EQ(step->kernels[0].time.start_ns, timeline.kernels[step->kernels[0].index].start_ns);
  EXPECT_EQ(step->kernels[0].time.end_ns, timeline.kernels[step->kernels[0].index].end_ns);
  ASSERT_THAT(step->transfers, SizeIs(1));
  EXPECT_EQ(step->transfers[0].time.start_ns, timeline.transfers[step->transfers[0].index].start_ns);
  ASSERT_THAT(step->calls, SizeIs(3));  // launch, copy, synchronisation
  for (const RetimedStep::Item& call : step->calls) {
    EXPECT_EQ(call.time.start_ns, timeline.calls[call.index].start_ns);
    EXPECT_EQ(call.time.end_ns, timeline.calls[call.index].end_ns);
  }
}

TEST(RetimedStep, LeavesOutWhatIsNoLongerDone) {
  const Played played = reading();
  const auto step = retimed(played, {Change::kRemoveSync});
  ASSERT_TRUE(step);
  EXPECT_DOUBLE_EQ(step->predicted_step_ns, 301.0 * kUs);  // the kernels follow each other
  EXPECT_EQ(length_ns(step->work), 301 * kUs);
  EXPECT_EQ(step->work.start_ns, step->recorded.work.start_ns);
  EXPECT_THAT(step->transfers, IsEmpty());
  ASSERT_THAT(step->kernels, SizeIs(1));
  EXPECT_EQ(step->kernels[0].time, (Interval{step->work.start_ns + kUs, step->work.end_ns}));
  ASSERT_THAT(step->calls, SizeIs(1));
  EXPECT_EQ(played.model().timeline().calls[step->calls[0].index].kind, trace::CallKind::kLaunch);
}

TEST(RetimedStep, IsUnknownWhereAChangeCannotBePredicted) {
  StepProgram program;
  program.steps(kSteps, [&](int) {
    program.upload({.host = trace::MemoryKind::kPageable, .wait = Wait::kInCall});
    program.kernel(300 * kUs);
  });
  const Played played(std::move(program), 0);
  EXPECT_FALSE(retimed(played, {Change::kPin}));
  EXPECT_TRUE(retimed(played, {}));
}

TEST(RetimedStep, WithoutStepsIsTheWholeRun) {
  ProcessBuilder builder;
  builder.call({.kind = trace::CallKind::kLaunch, .start_ns = 0, .end_ns = 5 * kUs, .correlation = 1});
  builder.kernel({.start_ns = 10 * kUs, .end_ns = 60 * kUs, .correlation = 1});
  const LoadedProcess processes[] = {builder.take()};
  bool is_seen = false;
  analyze_processes(processes, {}, [&](const ProcessView& view) {
    const auto step = retimed_step(*view.model, {});
    ASSERT_TRUE(step);
    is_seen = true;
    EXPECT_EQ(step->recorded.index, 0u);
    EXPECT_EQ(step->work, (Interval{0, 60 * kUs}));
    EXPECT_THAT(step->kernels, SizeIs(1));
    EXPECT_THAT(step->calls, SizeIs(1));
  });
  EXPECT_TRUE(is_seen);
}

}  // namespace
}  // namespace turnpike::analyze
