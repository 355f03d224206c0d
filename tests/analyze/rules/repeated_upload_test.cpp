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
  EXPECT_NE(findings[0].evidence.find("by sample"), std::string::npos) << findings[0].evidence;
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

// A function that reads a model's file and uploads it, in 3 ms; then 2 ms of the loop, and its kernel.
Finding loading_finding(bool is_a_function, bool is_sampled = true) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t main = builder.python("main", "/home/me/serve.py", 40);
  std::vector<std::uint32_t> frames = {builder.op("copy_")};
  if (is_a_function) frames.push_back(builder.python("load", "/home/me/serve.py", 12));
  frames.push_back(is_a_function ? main : builder.python("main", "/home/me/serve.py", 41));
  const std::uint32_t upload = builder.stack(frames);
  const std::uint32_t reading =
      builder.stack({is_a_function ? builder.python("load", "/home/me/serve.py", 10) : main, main});
  const std::uint32_t loop = builder.stack({builder.python("main", "/home/me/serve.py", 50)});
  program.steps(6, [&](int) {
    program.work(1500 * kUs);
    if (is_sampled) program.sample(reading);
    program.work(1500 * kUs);
    program.upload({.stack = upload, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall, .content = 7});
    program.kernel(50 * kUs);
    program.work(1000 * kUs);
    if (is_sampled) program.sample(loop);
    program.work(1000 * kUs);
    program.kernel(50 * kUs);
  });
  return program.findings(kRepeatedUpload).at(0);
}

TEST(RepeatedUpload, SavesTheFunctionThatDoesLittleElse) {
  const Finding in_function = loading_finding(true);
  const Finding in_loop = loading_finding(false);
  EXPECT_NEAR(static_cast<double>(*in_function.saving_step_ns - *in_loop.saving_step_ns), 3000 * kUs, 50 * kUs);
  EXPECT_EQ(loading_finding(true, false).saving_step_ns, in_loop.saving_step_ns) << "no samples tell";
}

}  // namespace
}  // namespace turnpike::analyze
