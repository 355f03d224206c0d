// The same data, uploaded again.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRepeatedUpload = "repeated_upload";

template <typename CopyOfStep>
std::vector<Finding> repeated_upload_findings(const CopyOfStep& copy_of, std::int64_t work_ns = 0) {
  StepProgram program;
  const std::uint32_t stack = program.stack(17, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int step) {
    StepCopy copy = copy_of(step);
    copy.stack = stack;
    copy.host = trace::MemoryKind::kPageable;
    copy.wait = Wait::kInCall;
    program.work(work_ns);
    program.upload(copy);
    program.kernel(50 * kUs);
  });
  return program.findings(kRepeatedUpload);
}

TEST(RepeatedUpload, IsToldByItsContent) {
  const auto findings = repeated_upload_findings([](int) { return StepCopy{.address = 0x1000, .content = 7}; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_NE(findings[0].evidence.find("once a step, 16.8 MB each; always the same data;"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
  EXPECT_EQ(findings[0].advice.find("Upload it once, before the loop"), 0u) << findings[0].advice;
}

TEST(RepeatedUpload, OfASampledContentIsDoubted) {
  const auto findings =
      repeated_upload_findings([](int) { return StepCopy{.address = 0x1000, .content = 7, .hashed_bytes = 4096}; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("as far as sampled"), std::string::npos) << findings[0].evidence;
}

TEST(RepeatedUpload, IsNotTheSameBufferWithOtherContent) {
  EXPECT_TRUE(repeated_upload_findings([](int step) {
                return StepCopy{.address = 0x1000, .content = 7u + static_cast<std::uint64_t>(step)};
              }).empty());
}

TEST(RepeatedUpload, OfASecondEpochIsTold) {
  const auto findings = repeated_upload_findings([](int step) {
    return StepCopy{.address = 0x1000u * static_cast<std::uint64_t>(step + 1),
                    .content = 7u + static_cast<std::uint64_t>(step % 2)};
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("4 of 6 uploads carried what had gone up before"), std::string::npos)
      << findings[0].evidence;
}

TEST(RepeatedUpload, OfSmallValuesThatAreEqualByChanceIsNotTold) {
  EXPECT_TRUE(repeated_upload_findings([](int step) {
                return StepCopy{.bytes = 8, .address = 0x1000, .content = 7u + static_cast<std::uint64_t>(step % 2)};
              }).empty());
}

TEST(RepeatedUpload, WithoutContentIsANoteAboutTheBuffer) {
  const auto findings = repeated_upload_findings([](int) { return StepCopy{.address = 0x1000}; });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_NE(findings[0].evidence.find("always from the same buffer (its content was not recorded"), std::string::npos)
      << findings[0].evidence;
  EXPECT_EQ(findings[0].advice.find("If nothing changes it: upload it once"), 0u) << findings[0].advice;
}

TEST(RepeatedUpload, WithoutContentIsNotABufferThatMayHaveBeenFilledAnew) {
  EXPECT_TRUE(repeated_upload_findings([](int) { return StepCopy{.address = 0x1000}; }, 5000 * kUs).empty());
}

TEST(RepeatedUpload, WithoutContentAndAddressesIsUnknown) {
  EXPECT_TRUE(repeated_upload_findings([](int) { return StepCopy{}; }).empty());
}

}  // namespace
}  // namespace turnpike::analyze
