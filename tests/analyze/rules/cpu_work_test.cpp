// Work on the CPU that no call to CUDA interrupts.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kCpuWork = "cpu_work";
constexpr std::int64_t kMs = 1000 * kUs;

// Each step works for so long in its midst, where samples of `stack` are taken.
StepProgram working(std::int64_t work_ns, std::uint32_t stack, StepProgram program = {}) {
  program.steps(6, [&](int) {
    program.upload({.bytes = 4096, .duration_ns = 2 * kUs});
    program.kernel(300 * kUs);
    for (int part = 0; part < 4; ++part) {
      program.work(work_ns / 4);
      if (stack != trace::kNoId && part < 3) program.sample(stack);
    }
    program.kernel(300 * kUs);
  });
  return program;
}

std::uint32_t resizing(StepProgram& program) {
  ProcessBuilder& builder = program.builder();
  return builder.stack(
      {builder.python("zoom", "/opt/lib/python3.12/site-packages/scipy/ndimage/_interpolation.py", 812),
       builder.python("step", "/home/me/train.py", 40)});
}

TEST(CpuWork, IsToldWithItsLineAndWhatItCalls) {
  StepProgram program;
  const std::uint32_t stack = resizing(program);
  const auto findings = working(8 * kMs, stack, std::move(program)).findings(kCpuWork);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:40");
  EXPECT_EQ(findings[0].library_site, std::nullopt);
  EXPECT_NE(findings[0].evidence.find("once a step the program made no call to CUDA: 8.00 ms a step"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("zoom()"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 80);
  EXPECT_EQ(findings[0].saving_step_low_ns, 0);  // nobody knows how much of it is needed
}

// As torch.profiler has it: the function, and no line in it.
TEST(CpuWork, IsToldWithItsFunctionWhereNoLineIsKnown) {
  StepProgram program;
  const std::uint32_t stack = program.builder().stack({program.builder().python("run", "/home/me/model.py", 0)});
  const auto findings = working(8 * kMs, stack, std::move(program)).findings(kCpuWork);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "model.py (run)");
}

TEST(CpuWork, IsNoneWithoutSamples) {
  EXPECT_TRUE(working(8 * kMs, trace::kNoId).findings(kCpuWork).empty());
}

TEST(CpuWork, IsNoneWhileTheGpuComputes) {
  StepProgram program;
  const std::uint32_t stack = program.stack(40, {});
  program.steps(6, [&](int) {
    program.kernel(9000 * kUs);
    program.work(4 * kMs);
    program.sample(stack);
    program.work(4 * kMs);
    program.kernel(300 * kUs);
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kCpuWork).empty());
}

TEST(CpuWork, IsNoneOfADataLoader) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t stack = builder.stack(
      {builder.python("_next_data", "/opt/lib/python3.12/site-packages/torch/utils/data/dataloader.py", 700),
       builder.python("step", "/home/me/train.py", 12)});
  EXPECT_TRUE(working(8 * kMs, stack, std::move(program)).findings(kCpuWork).empty());
}

}  // namespace
}  // namespace turnpike::analyze
