// Values that are read back from the GPU.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kImplicitSync = "implicit_sync";

StepProgram reading(std::uint64_t bytes, Wait wait, const std::string& op, int times = 1) {
  StepProgram program;
  const std::uint32_t stack = program.stack(30, {op});
  program.steps(6, [&](int) {
    program.kernel(400 * kUs);
    for (int i = 0; i < times; ++i) {
      program.download(
          {.stack = stack, .bytes = bytes, .duration_ns = 2 * kUs, .host = trace::MemoryKind::kPageable, .wait = wait});
    }
    program.work(300 * kUs);
  });
  return program;
}

TEST(ImplicitSync, IsToldWithTheOperatorThatReads) {
  const auto findings = reading(4, Wait::kBehind, "item").findings(kImplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:30");
  EXPECT_EQ(findings[0].title, "aten::item makes the CPU wait for the GPU");
  EXPECT_NE(findings[0].evidence.find("once a step, for 4 B"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(ImplicitSync, IsNoneForAResultThatIsLarge) {
  EXPECT_TRUE(reading(kMiB, Wait::kBehind, "to_dtype_layout").findings(kImplicitSync).empty());
}

TEST(ImplicitSync, AdvisesToKeepTheShapeWhereTheSizeIsRead) {
  const auto findings = reading(8, Wait::kBehind, "nonzero").findings(kImplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("torch.where"), std::string::npos) << findings[0].advice;
}

TEST(ImplicitSync, OfMoreThanOneNumberIsNotTakenForALoss) {
  const auto findings = reading(64, Wait::kBehind, "to_dtype_layout").findings(kImplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].advice.find("loss"), std::string::npos) << findings[0].advice;
  EXPECT_NE(findings[0].advice.find("Where sizes follow"), std::string::npos) << findings[0].advice;
}

TEST(ImplicitSync, IsNoneForTheResultAtTheEnd) {
  StepProgram program;
  const std::uint32_t stack = program.stack(30, {"item"});
  program.repeat(30, [&](int turn) {
    program.kernel(400 * kUs);
    program.work(turn % 3 * 100 * kUs);
    if (turn == 27) program.download({.stack = stack, .bytes = 4, .duration_ns = 2 * kUs, .wait = Wait::kBehind});
  });
  EXPECT_TRUE(program.findings(kImplicitSync).empty());
}

TEST(ImplicitSync, AdvisesToReadManyValuesTogether) {
  const auto findings = reading(4, Wait::kBehind, "item", 10).findings(kImplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("torch.stack"), std::string::npos) << findings[0].advice;
}

// By how much the range begins lower than it would if the advice took the CPU nothing.
double cost_us(const Finding& finding) {
  const std::int64_t above_ns = *finding.saving_step_high_ns - *finding.saving_step_ns;
  return static_cast<double>(*finding.saving_step_ns - *finding.saving_step_low_ns - above_ns) / kUs;
}

TEST(ImplicitSync, MaySaveLessByWhatReadingWithoutWaitingTakes) {
  EXPECT_NEAR(cost_us(reading(4, Wait::kBehind, "item").findings(kImplicitSync).at(0)), 57, 0.01);
  EXPECT_NEAR(cost_us(reading(4, Wait::kBehind, "item", 3).findings(kImplicitSync).at(0)), 3 * 57, 0.01);
  // Read together: one fetch of a small tensor (94), and the kernel that stacks them (38).
  EXPECT_NEAR(cost_us(reading(4, Wait::kBehind, "item", 10).findings(kImplicitSync).at(0)), 94 + 38, 0.01);
  EXPECT_NEAR(cost_us(reading(8, Wait::kBehind, "nonzero").findings(kImplicitSync).at(0)), 0, 0.01);
}

}  // namespace
}  // namespace turnpike::analyze
