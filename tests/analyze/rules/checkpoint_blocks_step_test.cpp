// Steps that wait while a checkpoint is saved.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kCheckpointBlocksStep = "checkpoint_blocks_step";

struct Saving {
  int steps = 12;
  int every = 4;  // steps
  int tensors = 8;
  std::uint64_t bytes = 4 * kMiB;
  Wait wait = Wait::kInCall;
  std::vector<std::string> operators{"copy_", "to_dtype_layout"};
};

StepProgram program_of(const Saving& saving) {
  StepProgram program;
  const StepCopy tensor = {.stack = program.stack(50, saving.operators),
                           .bytes = saving.bytes,
                           .duration_ns = 400 * kUs,
                           .host = trace::MemoryKind::kPageable,
                           .wait = saving.wait};
  program.steps(saving.steps, [&](int step) {
    program.kernel(400 * kUs);
    program.work(300 * kUs);
    if (step % saving.every != saving.every - 1) return;
    for (int i = 0; i < saving.tensors; ++i) program.download(tensor);
  });
  return program;
}

TEST(CheckpointBlocksStep, IsAHeapOfDownloadsInFewSteps) {
  const auto findings = program_of({}).findings(kCheckpointBlocksStep, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:50");
  EXPECT_EQ(findings[0].evidence.find("in 3 of 12 steps; 8 downloads (33.6 MB) each time"), 0u) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("tp.fetch"), std::string::npos);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

// Two pauses in 40 steps are no usual steps, and cost the program time all the same.
TEST(CheckpointBlocksStep, CountsTheStepsThatAreSeldom) {
  const auto findings = program_of({.steps = 40, .every = 20}).findings(kCheckpointBlocksStep, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence.find("in 2 of 40 steps;"), 0u) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 10);
}

TEST(CheckpointBlocksStep, IsTheOnlyRuleThatTellsHowToCopyThere) {
  EXPECT_TRUE(program_of({}).findings("blocking_copy", link_of(55)).empty());
  EXPECT_TRUE(program_of({}).findings("many_small_copies", link_of(55)).empty());
}

TEST(CheckpointBlocksStep, LeavesResultsOfMoreStepsToTheRuleOfBlockingCopies) {
  const Saving often = {.steps = 12, .every = 3};
  EXPECT_TRUE(program_of(often).findings(kCheckpointBlocksStep, link_of(55)).empty());
  EXPECT_EQ(program_of(often).findings("blocking_copy", link_of(55)).size(), 1u);
}

TEST(CheckpointBlocksStep, LeavesAFewResultsToTheRuleOfBlockingCopies) {
  const Saving few = {.tensors = 7};
  EXPECT_TRUE(program_of(few).findings(kCheckpointBlocksStep, link_of(55)).empty());
  EXPECT_EQ(program_of(few).findings("blocking_copy", link_of(55)).size(), 1u);
}

TEST(CheckpointBlocksStep, IsNoneThatNothingWaitsFor) {
  EXPECT_TRUE(program_of({.wait = Wait::kNothing}).findings(kCheckpointBlocksStep, link_of(55)).empty());
}

TEST(CheckpointBlocksStep, IsNoneOfValues) {
  EXPECT_TRUE(program_of({.bytes = 4096}).findings(kCheckpointBlocksStep, link_of(55)).empty());
}

TEST(CheckpointBlocksStep, NamesCudaWithoutPyTorch) {
  const auto findings = program_of({.operators = {}}).findings(kCheckpointBlocksStep, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("cudaMemcpyAsync"), std::string::npos);
}

TEST(CheckpointBlocksStep, IsFoundWithoutTheRateOfTheLink) {
  const auto findings = program_of({}).findings(kCheckpointBlocksStep);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 0);
}

}  // namespace
}  // namespace turnpike::analyze
