// Many short kernels that are launched too slowly.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/rules/loop_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kLaunchBound = "launch_bound";

struct Network {
  std::int64_t kernel_ns = 4 * kUs;
  std::int64_t python_ns = 10 * kUs;
  int layers = 24;
  bool is_read = false;
};

std::vector<Finding> launch_bound_findings(const Network& network) {
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
  return program.findings(kLaunchBound);
}

TEST(LaunchBound, IsToldOfTheStepAndNotOfALine) {
  const auto findings = launch_bound_findings({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "");
  EXPECT_NE(findings[0].evidence.find("24 times a step, of 4.00 us each (median)"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(LaunchBound, IsNotAStepOfLongKernels) {
  EXPECT_TRUE(launch_bound_findings({.kernel_ns = 200 * kUs}).empty());
}

TEST(LaunchBound, IsNotAStepOfFewKernels) {
  EXPECT_TRUE(launch_bound_findings({.python_ns = 300 * kUs, .layers = 2}).empty());
}

TEST(LaunchBound, IsNotAStepThatWaitsMostOfTheTime) {
  EXPECT_TRUE(launch_bound_findings({.is_read = true}).empty());
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
  const auto findings = program.findings(kLaunchBound);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("autograd's thread, which runs loss.backward(), for "), std::string::npos)
      << findings[0].evidence;
}

// Eight kernels a step on each of two GPUs; the second one computes for `second_us`.
std::vector<Finding> findings_of_two(std::int64_t second_us) {
  StepProgram program;
  program.steps(8, [&](int) {
    for (int i = 0; i < 8; ++i) {
      program.work(10 * kUs);
      program.kernel(4 * kUs, 0);
      program.work(10 * kUs);
      program.kernel(second_us * kUs, 1);
    }
  });
  return program.findings(kLaunchBound);
}

TEST(LaunchBound, IsNotWhereOneOfTheGpusIsBusy) {
  const auto findings = findings_of_two(10);  // of 241 us 80 are busy
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("has nothing to do for 67 % of the time"), std::string::npos)
      << findings[0].evidence;
  EXPECT_TRUE(findings_of_two(28).empty());
}

TEST(LaunchBound, SaysHowLongEachThreadIsBusy) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  constexpr std::uint32_t kAutograd = kMainThread + 1;
  std::uint32_t correlation = 0;
  // Of 100 us: 4 launches of 5 us by the main thread with 5 us before each, then 10 us idle, then 4 of autograd's.
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::int64_t start_ns = step * 100 * kUs;
    for (std::int64_t i = 0; i < 8; ++i) {
      const bool is_backward = i >= 4;
      const std::int64_t at_ns = start_ns + (is_backward ? 15 + 10 * i : 5 + 10 * i) * kUs;
      builder.call({.kind = trace::CallKind::kLaunch,
                    .start_ns = at_ns,
                    .end_ns = at_ns + 5 * kUs,
                    .correlation = ++correlation,
                    .name = "cudaLaunchKernel",
                    .thread = is_backward ? kAutograd : kMainThread,
                    .device = 0,
                    .role = is_backward ? trace::AutogradRole::kBackward : trace::AutogradRole::kForward});
      builder.kernel({.start_ns = at_ns + 6 * kUs, .end_ns = at_ns + 8 * kUs, .correlation = correlation});
    }
    builder.range("step", start_ns, start_ns + 100 * kUs);
  }
  const auto findings = program.findings(kLaunchBound);
  ASSERT_EQ(findings.size(), 1u);
  // Autograd's: 4 calls of 5 us, and 15, 5, 5, 5 before them. The main thread's: 4 of 5, and 15, 5, 5, 5; first none.
  EXPECT_EQ(findings[0].evidence,
            "kernels 8 times a step, of 2.00 us each (median), start 1.00 us after their launch (median): the queue "
            "is empty, and the GPU has nothing to do for 84 % of the time. Launching is the CPU's work: it keeps busy "
            "the main thread for 48 % of the time (20 % in calls to CUDA, the rest in Python and PyTorch), autograd's "
            "thread, which runs loss.backward(), for 50 % of the time (20 % in calls to CUDA, the rest in PyTorch)");
}

std::vector<Finding> launch_bound_findings(const Loop& loop) {
  return loop_program(loop).findings(kLaunchBound);
}

const Finding* find_at(const std::vector<Finding>& findings, const std::string& site) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.site == site; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(LaunchBound, CompilingReachesTheModelAlone) {
  const auto findings = launch_bound_findings(Loop{});
  const Finding* compile = find_at(findings, "");
  ASSERT_NE(compile, nullptr);
  // Of 1,225 us: 60 launches of 15 us, of which the first one stays.
  EXPECT_NEAR(compile->saving_pct.value_or(0), 73, 4);
  const auto saving_ns = static_cast<double>(*compile->saving_step_ns);
  EXPECT_NEAR(static_cast<double>(*compile->saving_step_low_ns), 0.55 * saving_ns, 1);
  EXPECT_NEAR(static_cast<double>(*compile->saving_step_expected_ns), 0.91 * saving_ns, 1);
  // Compiled models were measured to reach so much, though joining kernels might save more.
  EXPECT_NEAR(static_cast<double>(*compile->saving_step_high_ns), 1.27 * saving_ns, 1);
  EXPECT_NE(compile->saving_reason.find("the optimizer, the loader and the rest of the loop stay"), std::string::npos);
  EXPECT_NE(compile->evidence.find("the model's passes would take 7"), std::string::npos) << compile->evidence;
}

// Steps that launch the same are seen together: what one lacks, another one has.
TEST(LaunchBound, FewSamplesOfManyStepsTellThePartsApart) {
  const auto often = launch_bound_findings(Loop{.steps = 21});
  const auto rarely = launch_bound_findings(Loop{.steps = 21, .launches_per_sample = 7});
  ASSERT_NE(find_at(rarely, ""), nullptr);
  EXPECT_EQ(find_at(rarely, "")->saving_step_ns, find_at(often, "")->saving_step_ns);
  ASSERT_NE(find_at(rarely, "train.py:30"), nullptr);
  EXPECT_EQ(find_at(rarely, "train.py:30")->saving_step_ns, find_at(often, "train.py:30")->saving_step_ns);
}

TEST(LaunchBound, ReadsInTheModelMakeCompilingReachLessAndThenNothing) {
  const auto once = launch_bound_findings(Loop{.reads_in_model = 1});
  ASSERT_NE(find_at(once, ""), nullptr);
  EXPECT_NE(find_at(once, "")->saving_reason.find("it reads a value back once a step, where a graph ends"),
            std::string::npos)
      << find_at(once, "")->saving_reason;
  EXPECT_EQ(find_at(launch_bound_findings(Loop{.reads_in_model = 3}), ""), nullptr);
}

TEST(LaunchBound, CompilingIsNotAdvisedWhereStepsDiffer) {
  EXPECT_NE(find_at(launch_bound_findings(Loop{.steps = 12}), ""), nullptr);
  EXPECT_EQ(find_at(launch_bound_findings(Loop{.steps = 12, .are_kernels_many_in_odd_steps = true}), ""), nullptr);
}

TEST(LaunchBound, CompilingIsNotAdvisedWhereSeveralPassesShareAnOptimizerStep) {
  EXPECT_EQ(find_at(launch_bound_findings(Loop{.steps = 12, .optimizer_every = 2}), ""), nullptr);
}

TEST(LaunchBound, AnOptimizerOfManyLaunchesHasAFindingOfItsOwn) {
  const auto findings = launch_bound_findings(Loop{});
  const Finding* optimizer = find_at(findings, "train.py:30");
  ASSERT_NE(optimizer, nullptr);
  EXPECT_EQ(optimizer->title, "the optimizer updates its parameters in many launches");
  EXPECT_NE(optimizer->advice.find("fused=True"), std::string::npos);
  EXPECT_NEAR(optimizer->saving_pct.value_or(0), 9, 2);
  EXPECT_EQ(find_at(launch_bound_findings(Loop{.optimizer_kernel = "FusedAdamMathFunctor"}), "train.py:30"), nullptr);
  EXPECT_EQ(find_at(launch_bound_findings(Loop{.optimizer_ns = 8 * kUs}), "train.py:30"), nullptr) << "too little";
}

}  // namespace
}  // namespace turnpike::analyze
