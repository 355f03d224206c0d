// What is said of the threads that launch.
#include "analyze/sums/host_threads.h"

#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

// The main thread of a program that launches a kernel a step and was seen at these stacks.
HostThread main_thread_of(StepProgram& program, const std::vector<std::uint32_t>& seen) {
  program.steps(6, [&](int) {
    for (const std::uint32_t stack : seen) {
      program.work(100 * kUs);
      program.sample(stack);
    }
    program.kernel(50 * kUs);
  });
  const LoadedProcess processes[] = {program.builder().take()};
  const auto threads = analyze_processes(processes).verdict.threads;
  return threads.size() == 1 ? threads[0] : HostThread{};
}

TEST(HostThreads, KnowTheShareOfOperatorsFromSamplesOfPython) {
  StepProgram program;
  const HostThread thread = main_thread_of(program, {program.stack(17, {"mul_Tensor"}), program.stack(18, {})});
  EXPECT_EQ(thread.operator_pct, 50.0);
  EXPECT_EQ(thread.python_pct, 50.0);
  EXPECT_EQ(thread.busiest_lines.size(), 2u);
}

TEST(HostThreads, NameTheLineOfALibraryThatMostSamplesOfALineWereAt) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const auto in_library = [&](std::uint32_t line) {
    return builder.stack({builder.python("step", "/opt/lib/python3.12/site-packages/lib/loop.py", line),
                          builder.python("main", "/home/me/train.py", 15)});
  };
  const std::uint32_t often = in_library(7);
  const HostThread thread = main_thread_of(program, {often, often, in_library(8), program.stack(18, {})});
  ASSERT_EQ(thread.busiest_lines.size(), 2u);
  EXPECT_EQ(thread.busiest_lines[0], "train.py:15 (75 %, 50 % at lib: loop.py:7)");
  EXPECT_EQ(thread.busiest_lines[1], "train.py:18 (25 %)");
}

// Some tools record operators and no Python: what was not in an operator was not seen.
TEST(HostThreads, DoNotKnowTheShareOfOperatorsWhereNothingElseWasSeen) {
  StepProgram program;
  const std::uint32_t in_operator = program.builder().stack({program.builder().op("mul_Tensor")});
  const HostThread thread = main_thread_of(program, {in_operator});
  EXPECT_EQ(thread.operator_pct, std::nullopt);
  EXPECT_EQ(thread.python_pct, std::nullopt);
  EXPECT_EQ(thread.busiest_lines.size(), 1u);
}

constexpr std::uint32_t kAutograd = kMainThread + 1;

// Three steps of 100 us. The main thread launches for 10 us and, from 40 us on, waits for 50; autograd's launches for 5
// us from 20 us on, and its kernel runs from 30 to 85.
struct TwoThreads {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;

  TwoThreads() {
    builder.process().pid = kMainThread;
    builder.thread(kMainThread, "python");
    builder.thread(kAutograd, "pt_autograd_0");
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::int64_t at_ns = step * 100 * kUs;
      builder.range("step", at_ns, at_ns + 100 * kUs);
      launch(at_ns, 10 * kUs, kMainThread, trace::AutogradRole::kForward, at_ns + 12 * kUs, at_ns + 15 * kUs);
      launch(at_ns + 20 * kUs, 5 * kUs, kAutograd, trace::AutogradRole::kBackward, at_ns + 30 * kUs, at_ns + 85 * kUs);
      builder.call({.kind = trace::CallKind::kSynchronize,
                    .start_ns = at_ns + 40 * kUs,
                    .end_ns = at_ns + 90 * kUs,
                    .correlation = ++correlation,
                    .name = "cudaDeviceSynchronize",
                    .device = 0});
    }
  }
  void launch(std::int64_t at_ns, std::int64_t length_ns, std::uint32_t thread, trace::AutogradRole role,
              std::int64_t start_ns, std::int64_t end_ns) {
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = at_ns,
                  .end_ns = at_ns + length_ns,
                  .correlation = ++correlation,
                  .name = "cudaLaunchKernel",
                  .thread = thread,
                  .device = 0,
                  .role = role});
    builder.kernel({.start_ns = start_ns, .end_ns = end_ns, .correlation = correlation});
  }
};

TEST(HostThreads, ShareTheTimeOfTheSteps) {
  TwoThreads program;
  const Verdict verdict = program.builder.report().verdict;
  ASSERT_EQ(verdict.threads.size(), 2u);
  const HostThread& main = verdict.threads[0];
  EXPECT_EQ(main.thread, kMainThread);
  EXPECT_EQ(main.name, "python");
  EXPECT_EQ(main.role, ThreadRole::kMain);
  EXPECT_EQ(main.launches, 3u);
  // A launch of 10, and 7.5 of the wait are its own work, as calls are that wait for nothing: half take 10, half 5.
  EXPECT_DOUBLE_EQ(main.calls_pct, 17.5);
  EXPECT_DOUBLE_EQ(main.waits_pct, 42.5);
  // 15 before each wait, since autograd's thread stopped; 10 before the second and the third launch.
  EXPECT_DOUBLE_EQ(main.between_pct, 100 * 65 / 300.0);
  const HostThread& autograd = verdict.threads[1];
  EXPECT_EQ(autograd.name, "pt_autograd_0");
  EXPECT_EQ(autograd.role, ThreadRole::kAutograd);
  EXPECT_EQ(autograd.launches, 3u);
  EXPECT_DOUBLE_EQ(autograd.calls_pct, 5);
  EXPECT_DOUBLE_EQ(autograd.waits_pct, 0);
  EXPECT_DOUBLE_EQ(autograd.between_pct, 10);
  EXPECT_EQ(main.python_pct, std::nullopt);
  EXPECT_TRUE(main.busiest_lines.empty());
}

TEST(HostThreads, LeadTheirKernelsByTenths) {
  TwoThreads program;
  const Verdict verdict = program.builder.report().verdict;
  ASSERT_TRUE(verdict.launch_lead);  // 2 us three times, 5 us three times
  EXPECT_EQ(verdict.launch_lead->p10_ns, 2 * kUs);
  EXPECT_EQ(verdict.launch_lead->median_ns, 3500);
  EXPECT_EQ(verdict.launch_lead->p90_ns, 5 * kUs);
}

TEST(HostThreads, LeadByTheValuesOfTheirRanks) {
  ProcessBuilder builder;
  for (std::uint32_t i = 0; i < 11; ++i) {
    builder.call({.kind = i % 2 == 0 ? trace::CallKind::kLaunch : trace::CallKind::kGraphLaunch,
                  .start_ns = i * 100,
                  .end_ns = i * 100 + 10,
                  .correlation = i + 1});
    builder.kernel({.start_ns = i * 100 + 10 + i, .end_ns = i * 100 + 60, .correlation = i + 1});
  }
  const Verdict verdict = builder.report().verdict;
  EXPECT_EQ(verdict.launch_lead->p10_ns, 1);
  EXPECT_EQ(verdict.launch_lead->median_ns, 5);
  EXPECT_EQ(verdict.launch_lead->p90_ns, 9);
}

TEST(HostThreads, ThatLaunchNothingAreLeftOut) {
  TwoThreads program;
  program.builder.call({.start_ns = 5, .end_ns = 10, .correlation = 1000, .thread = 7});
  EXPECT_EQ(program.builder.report().verdict.threads.size(), 2u);
}

TEST(HostThreads, OfAnotherProcessIdAreOthers) {
  TwoThreads program;
  program.builder.process().pid = 1;
  EXPECT_EQ(program.builder.report().verdict.threads[0].role, ThreadRole::kOther);
}

TEST(HostThreads, NameTheThreeBusiestLinesOfTheirOwnSamplesInTheSteps) {
  TwoThreads program;
  ProcessBuilder& builder = program.builder;
  const auto line = [&](std::uint32_t number) { return builder.line("train.py", number); };
  const std::uint32_t in_operator = builder.stack({builder.op("mul_Tensor"), builder.python("f", "train.py", 4)});
  std::int64_t now_ns = 0;
  const auto seen = [&](std::uint32_t stack, int times, std::uint32_t thread = kMainThread) {
    for (int i = 0; i < times; ++i) builder.sample(now_ns++, stack, thread);
  };
  seen(line(1), 1);
  seen(line(2), 4);
  seen(line(3), 2);
  seen(in_operator, 3);
  seen(line(9), 8, kAutograd);
  builder.sample(-1, line(5));
  builder.sample(300 * kUs, line(5));
  builder.sample(299 * kUs, line(1));
  const Verdict verdict = builder.report().verdict;
  // Of 11 samples 3 in an operator.
  EXPECT_EQ(verdict.threads[0].busiest_lines,
            (std::vector<std::string>{"train.py:2 (36 %)", "train.py:4 (27 %)", "train.py:3 (18 %)"}));
  EXPECT_DOUBLE_EQ(*verdict.threads[0].operator_pct, 100 * 3 / 11.0);
  EXPECT_DOUBLE_EQ(*verdict.threads[0].python_pct, 100 - 100 * 3 / 11.0);
  EXPECT_EQ(verdict.threads[1].busiest_lines, std::vector<std::string>{"train.py:9 (100 %)"});
  EXPECT_EQ(verdict.threads[1].operator_pct, std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
