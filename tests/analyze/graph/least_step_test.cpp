// What the devices must still do of a step, whatever dependencies the graph lacks.
#include "analyze/graph/least_step.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/graph/edits.h"
#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

constexpr int kSteps = 12;
constexpr std::uint32_t kFirstStream = 1;
constexpr std::uint32_t kSecondStream = 2;

// In each step of 640 us a kernel of 300 us on one stream and then one on another, the host waiting for each. That the
// second needs the first is nowhere in the records.
StepProgram two_streams(const std::string& second_kernel = "_Z6secondv") {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t line = program.stack(9, {});
  std::uint32_t correlation = 0;
  const auto kernel = [&](std::int64_t at_us, std::uint32_t stream, const std::string& name) {
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = at_us * kUs,
                  .end_ns = (at_us + 5) * kUs,
                  .correlation = ++correlation,
                  .name = "cudaLaunchKernel",
                  .device = 0});
    builder.kernel({.start_ns = (at_us + 7) * kUs,
                    .end_ns = (at_us + 307) * kUs,
                    .correlation = correlation,
                    .device = 0,
                    .stream = stream,
                    .name = name});
    builder.call({.kind = trace::CallKind::kSynchronize,
                  .start_ns = (at_us + 5) * kUs,
                  .end_ns = (at_us + 310) * kUs,
                  .correlation = ++correlation,
                  .stack = line,
                  .name = "cudaStreamSynchronize",
                  .device = 0,
                  .stream = stream});
  };
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t at_us = 640 * step;
    kernel(at_us, kFirstStream, "_Z5firstv");
    kernel(at_us + 315, kSecondStream, second_kernel);
    builder.range("step", at_us * kUs, (at_us + 640) * kUs);
  }
  return program;
}

TEST(LeastStep, BoundsAPredictionWhereADependencyBetweenStreamsIsUnknown) {
  const Played played(two_streams());
  EXPECT_NEAR(played.measured_us(), 640, 1);
  EXPECT_NEAR(played.predicted_us({Change::kRemoveSync}), 600,
              1);  // by the graph alone both run beside each other: 301
}

TEST(LeastStep, HoldsNoCollectives) {
  const Played played(two_streams("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_NEAR(played.model().run()->least_step->of(played.model().graph(), Pauses::kLeftOut), 300'000, 1);
}

TEST(LeastStep, HoldsWhatAChangeLeaves) {
  const Played played(two_streams());
  Graph graph = played.model().graph();
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    if (graph.operations[index].stream == kSecondStream) set_duration(graph, index, 100 * kUs);
  }
  EXPECT_NEAR(played.model().run()->least_step->of(graph, Pauses::kLeftOut), 400'000, 1);
}

TEST(LeastStep, HoldsNoCopiesOverTheLink) {
  StepProgram program;
  program.steps(kSteps, [&](int) {
    program.upload({.duration_ns = 250 * kUs, .wait = Wait::kInCall});
    program.kernel(300 * kUs);
  });
  const Played played(std::move(program));
  EXPECT_NEAR(played.model().run()->least_step->of(played.model().graph(), Pauses::kLeftOut), 300'000, 1);
}

}  // namespace
}  // namespace turnpike::analyze
