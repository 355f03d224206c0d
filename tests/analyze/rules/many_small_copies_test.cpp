// Many small copies of one line.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kManySmallCopies = "many_small_copies";

StepProgram many_small_copies_program(int times, std::uint64_t bytes) {
  StepProgram program;
  const std::uint32_t stack = program.stack(16, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int) {
    for (int i = 0; i < times; ++i) {
      program.work(10 * kUs);
      program.upload({.stack = stack,
                      .bytes = bytes,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
    }
    program.kernel(50 * kUs);
  });
  return program;
}

TEST(ManySmallCopies, AreToldAtTheirLine) {
  const auto findings = many_small_copies_program(32, 4096).findings(kManySmallCopies, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:16");
  EXPECT_NE(findings[0].evidence.find("32 times a step, 4.10 kB each"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(ManySmallCopies, AreNotABatchAndItsTargets) {
  EXPECT_TRUE(many_small_copies_program(2, 4096).findings(kManySmallCopies, link_of(55)).empty());
}

TEST(ManySmallCopies, AreNotLarge) {
  EXPECT_TRUE(many_small_copies_program(32, kMiB).findings(kManySmallCopies, link_of(55)).empty());
}

TEST(ManySmallCopies, AreToldOnceAndNotAsBlockingToo) {
  EXPECT_TRUE(many_small_copies_program(32, 4096).findings("blocking_copy", link_of(55)).empty());
  EXPECT_TRUE(many_small_copies_program(32, 128u << 10).findings("pageable_async_copy", link_of(55)).empty());
}

// An actor: each observation follows from the action that the GPU chose.
StepProgram acting(std::uint64_t answer_bytes, Wait answer) {
  StepProgram program;
  const std::uint32_t up = program.stack(16, {"copy_", "to_dtype_layout"});
  const std::uint32_t down = program.stack(18, {"copy_", "cpu"});
  program.steps(6, [&](int) {
    for (int i = 0; i < 32; ++i) {
      program.work(10 * kUs);
      program.upload({.stack = up,
                      .bytes = 256,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
      program.kernel(5 * kUs);
      program.download({.stack = down,
                        .bytes = answer_bytes,
                        .duration_ns = 2 * kUs,
                        .host = answer == Wait::kNothing ? trace::MemoryKind::kPinned : trace::MemoryKind::kPageable,
                        .wait = answer});
    }
  });
  return program;
}

TEST(ManySmallCopies, AreNotWhatFollowsFromAnswersOfTheGpu) {
  EXPECT_TRUE(acting(128, Wait::kBehind).findings(kManySmallCopies, link_of(55)).empty());
  EXPECT_TRUE(acting(128, Wait::kInCall).findings(kManySmallCopies, link_of(55)).empty());
}

TEST(ManySmallCopies, AreToldWhereNobodyReadsTheAnswersMeanwhile) {
  EXPECT_EQ(acting(128, Wait::kNothing).findings(kManySmallCopies, link_of(55)).size(), 1u);
}

TEST(ManySmallCopies, MayFollowAnAnswerInTheStepBefore) {
  StepProgram program;
  const std::uint32_t up = program.stack(16, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int) {
    for (int i = 0; i < 8; ++i) {
      program.work(10 * kUs);
      program.upload({.stack = up,
                      .bytes = 4096,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
    }
    program.kernel(50 * kUs);
    program.download({.stack = program.stack(18, {"_local_scalar_dense", "item"}),
                      .bytes = 4,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
  });
  EXPECT_EQ(program.findings(kManySmallCopies, link_of(55)).size(), 1u);
}

// A batch that is taken apart by hand: one upload for each line, with a wait behind it.
StepProgram uploading_by_lines(int lines, std::uint64_t bytes, bool has_work_between = false) {
  StepProgram program;
  std::vector<std::uint32_t> stacks;
  for (int line = 0; line < lines; ++line) {
    stacks.push_back(program.stack(30 + static_cast<std::uint32_t>(line), {"copy_", "to_dtype_layout"}));
  }
  program.steps(6, [&](int) {
    for (const std::uint32_t stack : stacks) {
      program.work(10 * kUs);
      program.upload({.stack = stack,
                      .bytes = bytes,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
      if (has_work_between) program.kernel(2 * kUs);
    }
    program.kernel(50 * kUs);
  });
  return program;
}

TEST(ManySmallCopies, OfNeighbouringLinesAreToldAtTheFirst) {
  const auto findings = uploading_by_lines(10, 4096).findings(kManySmallCopies, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:30");
  EXPECT_NE(findings[0].evidence.find("10 places that follow each other, up to train.py:39"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("10 times a step, 4.10 kB each"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 30);
}

TEST(ManySmallCopies, OfNeighbouringLinesAreNotToldAsBlockingToo) {
  EXPECT_TRUE(uploading_by_lines(10, 4096).findings("blocking_copy", link_of(55)).empty());
}

TEST(ManySmallCopies, OfNeighbouringLinesAreNotFew) {
  EXPECT_TRUE(uploading_by_lines(4, 4096).findings(kManySmallCopies, link_of(55)).empty());
}

TEST(ManySmallCopies, OfNeighbouringLinesAreNotLarge) {
  EXPECT_TRUE(uploading_by_lines(10, kMiB).findings(kManySmallCopies, link_of(55)).empty());
}

TEST(ManySmallCopies, OfLinesWithWorkBetweenThemAreNoGroup) {
  EXPECT_TRUE(uploading_by_lines(10, 4096, true).findings(kManySmallCopies, link_of(55)).empty());
}

}  // namespace
}  // namespace turnpike::analyze
