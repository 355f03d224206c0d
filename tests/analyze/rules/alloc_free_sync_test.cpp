// Memory that is freed and allocated again in each step.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kAllocFreeSync = "alloc_free_sync";

std::vector<Finding> alloc_free_sync_findings(int steps_with_frees, const std::string& suffix = "",
                                              bool has_empty_cache = true) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t allocating = program.stack(22, {"addmm"});
  std::vector<std::uint32_t> frames = {builder.python("step", "/home/me/train.py", 23)};
  if (has_empty_cache) {
    frames.insert(frames.begin(),
                  builder.python("empty_cache", "/opt/lib/python3.12/site-packages/torch/cuda/memory.py", 200));
  }
  const std::uint32_t freeing = builder.stack(frames);
  program.steps(6, [&](int step) {
    if (step < steps_with_frees) {
      program.call(trace::CallKind::kDeviceAlloc, allocating, "cudaMalloc" + suffix, 200 * kUs, kMiB);
    }
    program.kernel(100 * kUs);
    if (step < steps_with_frees) program.call(trace::CallKind::kDeviceFree, freeing, "cudaFree" + suffix, 300 * kUs);
  });
  return program.findings(kAllocFreeSync);
}

TEST(AllocFreeSync, IsToldAtTheLineThatFrees) {
  const auto findings = alloc_free_sync_findings(6);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:23");
  EXPECT_NE(findings[0].evidence.find("frees once a step, allocations once a step; the frees took 300 us a step, the "
                                      "allocations 200 us a step"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("empty_cache"), std::string::npos);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(AllocFreeSync, OfTheAllocatorItselfIsAdvisedOtherwise) {
  const auto findings = alloc_free_sync_findings(6, "", false);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].advice.find("empty_cache"), std::string::npos);
}

TEST(AllocFreeSync, IsNotOnlyInTheFirstSteps) {
  EXPECT_TRUE(alloc_free_sync_findings(2).empty());
}

TEST(AllocFreeSync, IsNotInOrderWithAStream) {
  EXPECT_TRUE(alloc_free_sync_findings(6, "Async").empty());
}

// A program without steps; `first_ns`: what its first allocation takes.
std::vector<Finding> findings_without_steps(std::int64_t first_ns) {
  StepProgram program;
  const std::uint32_t stack = program.stack(22, {"convolution"});
  program.repeat(9, [&](int turn) {
    program.call(trace::CallKind::kDeviceAlloc, stack, "cudaMalloc", turn == 0 ? first_ns : 200 * kUs, kMiB);
    program.kernel((100 + turn % 3) * kUs);
    program.call(trace::CallKind::kDeviceFree, stack, "cudaFree", 300 * kUs);
  });
  return program.findings(kAllocFreeSync);
}

TEST(AllocFreeSync, WithoutStepsIsWhatRecursAndNotTheStartOfALibrary) {
  EXPECT_TRUE(findings_without_steps(500'000 * kUs).empty());
  const auto findings = findings_without_steps(200 * kUs);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].title.find("again and again"), std::string::npos) << findings[0].title;
}

}  // namespace
}  // namespace turnpike::analyze
