// Copies between GPUs that hold up compute.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPeerCopySerialised = "peer_copy_serialised";

// The sender computes before and after; where it is not held up, the copy lies on a side stream.
StepProgram sending(std::uint32_t stream, std::int64_t copy_ns = 300 * kUs) {
  StepProgram program;
  const std::uint32_t stack = program.stack(33, {"copy_"});
  program.steps(8, [&](int) {
    program.kernel(400 * kUs, 0);
    program.send(stack, copy_ns, stream);
    program.kernel(400 * kUs, 0);
  });
  return program;
}

TEST(PeerCopySerialised, IsToldWhereAGpuStandsStill) {
  const auto findings = sending(kComputeStream).findings(kPeerCopySerialised);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:33");
  EXPECT_NE(findings[0].evidence.find(
                "they took 300 us a step, and one of the GPUs computed nothing for 300 us a step of it"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 10);
}

// The host issues a step in some 20 us and waits at the end only.
TEST(PeerCopySerialised, StepsAreWhatTheGpuTakesWhereTheCpuRunsAhead) {
  StepProgram program = sending(kComputeStream);
  const LoadedProcess processes[] = {program.builder().take()};
  const Report report = analyze_processes(processes);
  ASSERT_TRUE(report.steps);
  EXPECT_LT(report.steps->median_ns, 50 * kUs);
  EXPECT_EQ(report.steps->device_median_ns, 1103 * kUs);
  EXPECT_EQ(report.steps->typical_ns(), 1103 * kUs);
  EXPECT_LT(report.findings.at(0).saving_step_high_ns.value_or(0), report.steps->typical_ns());
}

TEST(PeerCopySerialised, IsNoneBesideKernels) {
  EXPECT_TRUE(sending(kSideStream).findings(kPeerCopySerialised).empty());
}

TEST(PeerCopySerialised, IsNoneThatIsShort) {
  EXPECT_TRUE(sending(kComputeStream, 3 * kUs).findings(kPeerCopySerialised).empty());
}

}  // namespace
}  // namespace turnpike::analyze
