// Copies down that nothing waits for.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kUnsafeRead = "unsafe_read";
constexpr std::uint64_t kBuffer = 0x10'0000'0000;

template <typename AfterCopy>
std::vector<Finding> unsafe_read_findings(const AfterCopy& after_copy, std::uint64_t distance = 0) {
  StepProgram program;
  const std::uint32_t stack = program.stack(21, {"copy_"});
  program.steps(6, [&](int step) {
    program.kernel(50 * kUs);
    program.download({.stack = stack, .address = kBuffer + static_cast<std::uint64_t>(step) * distance});
    after_copy(program);
    program.work(1000 * kUs);
  });
  return program.findings(kUnsafeRead);
}

TEST(UnsafeRead, IsAnErrorWhereNothingWaits) {
  const auto findings = unsafe_read_findings([](StepProgram&) {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:21");
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_FALSE(findings[0].saving_pct.has_value());
  EXPECT_NE(findings[0].evidence.find("5 of 6 were overwritten by the next"), std::string::npos)
      << findings[0].evidence;
}

TEST(UnsafeRead, IsNotOneAfterASynchronisation) {
  EXPECT_TRUE(
      unsafe_read_findings([](StepProgram& program) { program.sync(trace::kNoId, "cudaStreamSynchronize"); }).empty());
}

TEST(UnsafeRead, IsNotToldWhereSomeoneMayAskAnEvent) {
  EXPECT_TRUE(unsafe_read_findings([](StepProgram& program) {
                program.call(trace::CallKind::kEventRecord, trace::kNoId, "cudaEventRecord");
              }).empty());
}

TEST(UnsafeRead, IsNotToldWhereEachCopyHasItsOwnMemory) {
  EXPECT_TRUE(unsafe_read_findings([](StepProgram&) {}, 16 * kMiB).empty());
}

TEST(UnsafeRead, IsNotToldWhereTheGpuTakesTheDataBack) {
  EXPECT_TRUE(unsafe_read_findings([](StepProgram& program) { program.upload({.address = kBuffer}); }).empty());
}

}  // namespace
}  // namespace turnpike::analyze
