// What is said of the threads that launch.
#include "analyze/host_threads.h"

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

// Some tools record operators and no Python: what was not in an operator was not seen.
TEST(HostThreads, DoNotKnowTheShareOfOperatorsWhereNothingElseWasSeen) {
  StepProgram program;
  const std::uint32_t in_operator = program.builder().stack({program.builder().op("mul_Tensor")});
  const HostThread thread = main_thread_of(program, {in_operator});
  EXPECT_EQ(thread.operator_pct, std::nullopt);
  EXPECT_EQ(thread.python_pct, std::nullopt);
  EXPECT_EQ(thread.busiest_lines.size(), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
