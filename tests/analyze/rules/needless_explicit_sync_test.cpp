// Synchronisations that the program asks for by itself.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRule = "needless_explicit_sync";

TEST(NeedlessExplicitSync, IsToldWithWhatItWaitedFor) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(stack, "cudaDeviceSynchronize");
  });
  const auto findings = program.findings(kRule);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:18");
  EXPECT_NE(findings[0].evidence.find("once a step; the CPU waited 405 us a step for the work on stream 0 of GPU 0, "
                                      "last for the kernel kernel"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(NeedlessExplicitSync, IsNoneThatComesRarely) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(8, [&](int step) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    if (step == 3) program.sync(stack, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kRule).empty());
}

TEST(NeedlessExplicitSync, IsNoneBehindAResultThatComesDown) {
  StepProgram program;
  const std::uint32_t download = program.stack(17, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.download({.stack = download, .bytes = 4 * kMiB});
    program.sync(stack, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kRule).empty());
}

TEST(NeedlessExplicitSync, IsNoOperatorsOwnWait) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {"item"});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(stack, "cudaStreamSynchronize");
  });
  EXPECT_TRUE(program.findings(kRule).empty());
}

// A recording of another tool can know lines of Python and not the operators.
TEST(NeedlessExplicitSync, IsNoWaitRightBehindACopyOfTheSameLine) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.upload({.stack = stack, .bytes = 4096, .duration_ns = 2 * kUs});
    program.sync(stack, "cudaStreamSynchronize");
  });
  EXPECT_TRUE(program.findings(kRule).empty());
}

TEST(NeedlessExplicitSync, IsNoWaitBeforeTheSourceOfAnUploadIsOverwritten) {
  StepProgram program;
  const std::uint32_t upload = program.stack(16, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(100 * kUs);
    program.upload({.stack = upload});
    program.work(10 * kUs);
    program.sync(stack, "cudaEventSynchronize");
  });
  EXPECT_TRUE(program.findings(kRule).empty());
}

}  // namespace
}  // namespace turnpike::analyze
