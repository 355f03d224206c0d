// Tensors that are made and uploaded in each step.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kCopiesInStep = "copies_in_step";

enum class Made { kAnywhere, kOfPythonValues };

// Uploads in each of 6 steps; `address` and `content` of a step.
template <typename Address, typename Content>
std::vector<Finding> copies_in_step_findings(Made made, const Address& address, const Content& content,
                                             const char* rule = kCopiesInStep, std::uint64_t bytes = 16u << 10) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  std::vector<std::uint32_t> frames = {builder.op("copy_"), builder.op("to_dtype_layout")};
  if (made == Made::kOfPythonValues) {
    frames.push_back(builder.native("_ZN5torch5utils11tensor_ctorEN3c1011DispatchKeyE", "/lib/libtorch_python.so"));
  }
  frames.push_back(builder.python("step", "/home/me/train.py", 17));
  const std::uint32_t stack = builder.stack(frames);
  program.steps(6, [&](int step) {
    program.upload({.stack = stack,
                    .bytes = bytes,
                    .host = trace::MemoryKind::kPageable,
                    .wait = Wait::kInCall,
                    .address = address(static_cast<std::uint64_t>(step)),
                    .content = content(static_cast<std::uint64_t>(step))});
    program.kernel(50 * kUs);
  });
  return program.findings(rule);
}

std::uint64_t alternating(std::uint64_t step) {
  return 0x1000 + (step % 2) * kMiB;
}
std::uint64_t one_place(std::uint64_t) {
  return 0x1000;
}
std::uint64_t the_same(std::uint64_t) {
  return 7;
}
std::uint64_t another_each_time(std::uint64_t step) {
  return 7 + step;
}
std::uint64_t not_recorded(std::uint64_t) {
  return 0;
}

TEST(CopiesInStep, OfTheSameDataFromOtherMemoryAreTold) {
  const auto findings = copies_in_step_findings(Made::kAnywhere, alternating, the_same);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_NE(findings[0].evidence.find("once a step, 16.4 kB each, always the same data"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(CopiesInStep, AreNotToldAsRepeatedUploadsToo) {
  EXPECT_TRUE(copies_in_step_findings(Made::kAnywhere, alternating, the_same, "repeated_upload").empty());
  EXPECT_TRUE(copies_in_step_findings(Made::kAnywhere, one_place, the_same).empty());
}

TEST(CopiesInStep, OfOtherDataEachTimeAreNotTold) {
  EXPECT_TRUE(copies_in_step_findings(Made::kAnywhere, alternating, another_each_time).empty());
  EXPECT_TRUE(copies_in_step_findings(Made::kOfPythonValues, one_place, another_each_time).empty());
}

TEST(CopiesInStep, OfTheSamePythonValuesAreToldFromOnePlaceToo) {
  const auto findings = copies_in_step_findings(Made::kOfPythonValues, one_place, the_same);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(CopiesInStep, OfPythonValuesWithoutContentAreANote) {
  const auto findings = copies_in_step_findings(Made::kOfPythonValues, one_place, not_recorded);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_NE(findings[0].evidence.find("whether its values change was not recorded"), std::string::npos)
      << findings[0].evidence;
  EXPECT_TRUE(copies_in_step_findings(Made::kAnywhere, alternating, not_recorded).empty());
}

TEST(CopiesInStep, WithoutContentAreNotABatch) {
  EXPECT_TRUE(copies_in_step_findings(Made::kOfPythonValues, one_place, not_recorded, kCopiesInStep, kMiB).empty());
}

}  // namespace
}  // namespace turnpike::analyze
