// Rules and changes where a process has two GPUs, or copies on two threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/edits.h"
#include "analyze/graph/played.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

// Ten uploads of 80 kB a step from one line, to the GPUs that are named in turn; each call waits for its copy.
StepProgram uploading_in_turn(const std::vector<std::uint32_t>& devices) {
  StepProgram program;
  const std::uint32_t line = program.stack(5, kTo);
  program.steps(10, [&](int) {
    for (std::size_t i = 0; i < 10; ++i) {
      program.upload({.stack = line,
                      .bytes = 80'000,
                      .duration_ns = 20 * kUs,
                      .wait = Wait::kInCall,
                      .device = devices[i % devices.size()]});
    }
    program.work(20 * kUs);
  });
  return program;
}

TEST(TwoGpus, CopiesOfOneLineArePackedForEach) {
  const Played one(uploading_in_turn({1}));
  EXPECT_NEAR(one.measured_us(), 301, 1e-6);  // 10 x (5 + 20 + 3), 20 and 1
  // 800 kB: packing 100 us, ten views 10, the call 5, crossing 1.2 + 16, the return 3; 20 and 1.
  EXPECT_NEAR(one.predicted_us({Change::kMergeCopies}), 156.2, 1e-6);
  const Played both(uploading_in_turn({0, 1}));
  EXPECT_NEAR(both.measured_us(), 301, 1e-6);
  // Twice 400 kB: packing 50 us, five views 5, the call 5, crossing 1.2 + 8, the return 3; 20 and 1.
  EXPECT_NEAR(both.predicted_us({Change::kMergeCopies}), 2 * 72.2 + 21, 1e-6);
  Graph graph = both.model().graph();
  apply(both.model(), graph, Change::kMergeCopies, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::vector<std::uint32_t> kept;
  for (std::uint32_t operation = 0; operation < 10; ++operation) {
    if (!is_removed(graph, operation)) kept.push_back(operation);
  }
  EXPECT_THAT(kept, ElementsAre(0, 1));
}

// A link of 10 GB/s for the first GPU, of 50 for the second.
TEST(TwoGpus, SmallCopiesCrossTheLinkOfTheirGpu) {
  StepProgram program = uploading_in_turn({1});
  program.builder().device(0, "slow");
  program.builder().device(1, "fast");
  const auto rates = [](const std::string& device, const std::string&) {
    return device == "slow" ? LinkRate{10.0, 10.0} : LinkRate{50.0, 50.0};
  };
  const auto findings = program.findings("many_small_copies", rates);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence, HasSubstr("(in one piece: 17.2 us)"));
}

// Two threads bring data down and up again, each after the other.
TEST(TwoThreads, KeepOnTheDeviceWhatEachBringsDownAndUp) {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  const auto copy = [&](std::int64_t at_us, std::uint32_t thread, bool is_up) {
    builder.call({.start_ns = at_us * kUs,
                  .end_ns = (at_us + 5) * kUs,
                  .correlation = ++correlation,
                  .thread = thread,
                  .device = 0});
    builder.copy({.start_ns = (at_us + 1) * kUs,
                  .end_ns = (at_us + 4) * kUs,
                  .correlation = correlation,
                  .bytes = 8000,
                  .kind = is_up ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost,
                  .src = is_up ? MemoryKind::kPinned : MemoryKind::kDevice,
                  .dst = is_up ? MemoryKind::kDevice : MemoryKind::kPinned,
                  .is_async = true});
  };
  copy(0, 1, false);
  copy(10, 2, false);
  copy(20, 1, true);
  copy(30, 2, true);
  copy(40, 1, true);
  const LoadedProcess loaded = builder.take();
  RunSums sums;
  ProcessAnalysis analysis(sums, loaded.process, loaded.timeline);
  const ProcessModel model = analysis.model(std::nullopt, {});
  Graph graph = model.graph();
  EXPECT_THAT(apply(model, graph, Change::kKeepOnDevice, {0, 1, 2, 3, 4}).calls, ElementsAre(2, 3));
}

// The loader takes 6 ms; the second GPU has work for the first 4 of them.
TEST(TwoGpus, ALateLoaderLeavesOneOfThemWithoutWork) {
  StepProgram program;
  const std::uint32_t line = program.stack(40, kTo);
  program.steps(10, [&](int) {
    program.work(6000 * kUs);
    program.upload({.stack = line, .bytes = 1'000'000, .duration_ns = 50 * kUs});
    program.kernel(500 * kUs, 0);
    program.kernel(4000 * kUs, 1);
  });
  const auto findings = program.findings("late_loader");
  ASSERT_EQ(findings.size(), 1u);
  // Nine gaps of 6001 us; the first GPU is done with its step 541 us into each.
  EXPECT_THAT(findings[0].evidence, HasSubstr("5.40 ms a step, of which the GPU was idle for 4.91 ms a step"));
}

}  // namespace
}  // namespace turnpike::analyze
