// Asynchronous copies between the kernels.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRule = "copy_on_compute_stream";

StepProgram uploading(const StepCopy& copy) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(21, {"copy_", "to_dtype_layout"});
  program.steps(8, [&](int) {
    program.upload(placed);
    program.kernel(400 * kUs);
  });
  return program;
}

TEST(CopyOnComputeStream, IsAnUploadThatNoKernelRunsBeside) {
  const auto findings = uploading({}).findings(kRule);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:21");
  EXPECT_NE(findings[0].evidence.find("they took 300 us a step, 300 us of it without a kernel beside them"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(CopyOnComputeStream, IsNoneOnAStreamOfItsOwn) {
  EXPECT_TRUE(uploading({.stream = kSideStream}).findings(kRule).empty());
}

TEST(CopyOnComputeStream, IsNoneThatIsShort) {
  EXPECT_TRUE(uploading({.bytes = 4096, .duration_ns = 2 * kUs}).findings(kRule).empty());
}

TEST(CopyOnComputeStream, IsAResultThatComesDownBetweenKernels) {
  StepProgram program;
  const std::uint32_t stack = program.stack(30, {"copy_"});
  program.steps(8, [&](int) {
    program.kernel(400 * kUs);
    program.download({.stack = stack});
  });
  const auto findings = program.findings(kRule);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("record_stream"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
