// Page-locking in the loop.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPinningInLoop = "pinning_in_loop";

std::vector<Finding> pinning_in_loop_findings(int steps_with_pinning, const std::string& op = "pin_memory") {
  StepProgram program;
  const std::uint32_t stack = program.stack(17, {op});
  const std::uint32_t to = program.stack(18, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int step) {
    if (step < steps_with_pinning) {
      program.call(trace::CallKind::kHostAlloc, stack, "cudaHostAlloc", 3000 * kUs, 8 * kMiB);
    }
    program.upload({.stack = to, .bytes = 8 * kMiB, .duration_ns = 200 * kUs});
    program.kernel(50 * kUs);
  });
  return program.findings(kPinningInLoop);
}

TEST(PinningInLoop, IsToldWithWhatItTakes) {
  const auto findings = pinning_in_loop_findings(6);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_NE(findings[0].evidence.find("once a step, 8.39 MB each; the calls took 3.00 ms a step"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("pin_memory() then copies these bytes"), std::string::npos);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 80);
}

TEST(PinningInLoop, OfAnEmptyBufferCopiesNothing) {
  const auto findings = pinning_in_loop_findings(6, "empty");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence.find("copies"), std::string::npos) << findings[0].evidence;
}

TEST(PinningInLoop, IsNotOnceAtTheStart) {
  EXPECT_TRUE(pinning_in_loop_findings(1).empty());
}

}  // namespace
}  // namespace turnpike::analyze
