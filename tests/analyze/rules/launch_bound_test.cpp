// Many short kernels that are launched too slowly.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRule = "launch_bound";

struct Network {
  std::int64_t kernel_ns = 4 * kUs;
  std::int64_t python_ns = 10 * kUs;
  int layers = 24;
  bool is_read = false;
};

std::vector<Finding> findings_of(const Network& network) {
  StepProgram program;
  const std::uint32_t stack = program.stack(30, {"copy_", "_local_scalar_dense", "item"});
  program.steps(8, [&](int) {
    for (int i = 0; i < network.layers; ++i) {
      program.work(network.python_ns);
      program.kernel(network.kernel_ns);
      if (!network.is_read) continue;
      program.download({.stack = stack,
                        .bytes = 4,
                        .duration_ns = 100 * kUs,
                        .host = trace::MemoryKind::kPageable,
                        .wait = Wait::kInCall});
    }
  });
  return program.findings(kRule);
}

TEST(LaunchBound, IsToldOfTheStepAndNotOfALine) {
  const auto findings = findings_of({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "");
  EXPECT_NE(findings[0].evidence.find("24 times a step, of 4.00 us each (median)"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(LaunchBound, IsNotAStepOfLongKernels) {
  EXPECT_TRUE(findings_of({.kernel_ns = 200 * kUs}).empty());
}

TEST(LaunchBound, IsNotAStepOfFewKernels) {
  EXPECT_TRUE(findings_of({.python_ns = 300 * kUs, .layers = 2}).empty());
}

TEST(LaunchBound, IsNotAStepThatWaitsMostOfTheTime) {
  EXPECT_TRUE(findings_of({.is_read = true}).empty());
}

TEST(LaunchBound, NamesTheThreadOfAutograd) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  constexpr std::uint32_t kAutograd = kMainThread + 1;
  std::int64_t now_ns = 0;
  std::uint32_t correlation = 0;
  for (int step = 0; step < 6; ++step) {
    const std::int64_t start_ns = now_ns;
    for (int i = 0; i < 20; ++i) {
      const bool is_backward = i >= 4;
      now_ns += 10 * kUs;
      builder.call({.kind = trace::CallKind::kLaunch,
                    .start_ns = now_ns,
                    .end_ns = now_ns + 5 * kUs,
                    .correlation = ++correlation,
                    .name = "cudaLaunchKernel",
                    .thread = is_backward ? kAutograd : kMainThread,
                    .device = 0,
                    .role = is_backward ? trace::AutogradRole::kBackward : trace::AutogradRole::kForward});
      now_ns += 5 * kUs;
      builder.kernel({.start_ns = now_ns, .end_ns = now_ns + 3 * kUs, .correlation = correlation});
    }
    builder.range("step", start_ns, now_ns);
  }
  const auto findings = program.findings(kRule);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("that is why a CPU core is at 100 % there"), std::string::npos)
      << findings[0].evidence;
}

}  // namespace
}  // namespace turnpike::analyze
