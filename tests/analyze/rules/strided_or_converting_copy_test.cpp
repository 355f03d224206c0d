// Uploads of a copy that PyTorch makes on the host first.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kStridedOrConvertingCopy = "strided_or_converting_copy";

StepProgram strided_or_converting_copy_program(const std::vector<std::string>& operators, Wait wait,
                                               trace::MemoryKind host) {
  StepProgram program;
  const std::uint32_t stack = program.stack(20, operators);
  program.steps(6, [&](int) {
    program.kernel(300 * kUs);
    program.work(3000 * kUs);
    program.upload({.stack = stack, .bytes = 8 * kMiB, .duration_ns = 800 * kUs, .host = host, .wait = wait});
  });
  return program;
}

constexpr auto kPageable = trace::MemoryKind::kPageable;

TEST(StridedOrConvertingCopy, IsACopyWithinACopy) {
  const auto findings =
      strided_or_converting_copy_program({"copy_", "copy_", "to_dtype_layout"}, Wait::kInCall, kPageable)
          .findings(kStridedOrConvertingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:20");
  EXPECT_EQ(findings[0].title, "the data is gathered into a copy on the CPU before it goes up");
  EXPECT_NE(findings[0].evidence.find("the CPU spent 3.00 ms a step before the uploads"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(StridedOrConvertingCopy, MayBeAConversionWherePyTorchWaits) {
  const auto findings =
      strided_or_converting_copy_program({"copy_", "copy_", "to_dtype_layout"}, Wait::kBehind, kPageable)
          .findings(kStridedOrConvertingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].title.find("gathered or converted"), std::string::npos);
}

TEST(StridedOrConvertingCopy, IsNoneOfAPlainCopy) {
  EXPECT_TRUE(strided_or_converting_copy_program({"copy_", "to_dtype_layout"}, Wait::kInCall, kPageable)
                  .findings(kStridedOrConvertingCopy, link_of(55))
                  .empty());
}

// PyTorch converts such a copy on the GPU, and takes it from where it lies.
TEST(StridedOrConvertingCopy, IsNoneFromPageLockedMemory) {
  EXPECT_TRUE(strided_or_converting_copy_program({"copy_", "copy_", "to_dtype_layout"}, Wait::kNothing,
                                                 trace::MemoryKind::kPinned)
                  .findings(kStridedOrConvertingCopy, link_of(55))
                  .empty());
}

// Line 18 works on the host for 3 ms, in one operator, and line 20 uploads what it made.
StepProgram working_before(const std::string& name, int samples_a_step = 4) {
  StepProgram program;
  const std::uint32_t upload = program.stack(20, {"copy_", "to_dtype_layout"});
  ProcessBuilder& builder = program.builder();
  const std::uint32_t before =
      builder.stack({builder.operator_frame(name), builder.python("step", "/home/me/train.py", 18)});
  program.steps(6, [&](int) {
    for (int kernel = 0; kernel < 3; ++kernel) program.kernel(100 * kUs);
    for (int sample = 0; sample < samples_a_step; ++sample) {
      program.work(3000 * kUs / (samples_a_step + 1));
      program.sample(before);
    }
    program.work(3000 * kUs / (samples_a_step + 1));
    program.upload(
        {.stack = upload, .bytes = 8 * kMiB, .duration_ns = 800 * kUs, .host = kPageable, .wait = Wait::kInCall});
  });
  return program;
}

TEST(StridedOrConvertingCopy, IsFoundInALineOfItsOwnWhereOperatorsWereSampled) {
  const auto findings = working_before("aten::_to_copy").findings(kStridedOrConvertingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:18");
  EXPECT_NE(findings[0].evidence.find("go up at train.py:20"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("in 24 of 24 samples"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("3.00 ms a step"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 10);
}

TEST(StridedOrConvertingCopy, IsNotClaimedOfOtherWorkBeforeAnUpload) {
  EXPECT_TRUE(working_before("aten::mul").findings(kStridedOrConvertingCopy, link_of(55)).empty());
}

TEST(StridedOrConvertingCopy, IsNotClaimedWithoutSamples) {
  EXPECT_TRUE(working_before("aten::_to_copy", 0).findings(kStridedOrConvertingCopy, link_of(55)).empty());
}

// Seen in every second upload, and three times at least.
TEST(StridedOrConvertingCopy, IsFoundWhereItWasSeenOftenEnough) {
  const auto count = [](int steps, int samples) {
    StepProgram program;
    const std::uint32_t upload = program.stack(20, {"copy_", "to_dtype_layout"});
    ProcessBuilder& builder = program.builder();
    const std::uint32_t before =
        builder.stack({builder.operator_frame("aten::_to_copy"), builder.python("step", "/home/me/train.py", 18)});
    program.steps(steps, [&](int step) {
      for (int kernel = 0; kernel < 3; ++kernel) program.kernel(100 * kUs);
      program.work(1500 * kUs);
      if (step < samples) program.sample(before);
      program.work(1500 * kUs);
      program.upload(
          {.stack = upload, .bytes = 8 * kMiB, .duration_ns = 800 * kUs, .host = kPageable, .wait = Wait::kInCall});
    });
    return program.findings(kStridedOrConvertingCopy, link_of(55)).size();
  };
  EXPECT_EQ(count(6, 3), 1u);
  EXPECT_EQ(count(4, 2), 0u);
  EXPECT_EQ(count(7, 3), 0u);
  EXPECT_EQ(count(8, 4), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
