// Down from the GPU and up again.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRoundTrip = "round_trip";

struct Trip {
  std::uint64_t down_content;
  std::uint64_t up_content;
  std::uint64_t up_bytes = 16 * kMiB;
  bool is_up_first = false;
  std::uint32_t up_device = 0;
};

std::vector<Finding> round_trip_findings(const Trip& trip) {
  StepProgram program;
  const std::uint32_t down = program.stack(16, {"copy_", "to_dtype_layout"});
  const std::uint32_t up = program.stack(17, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int step) {
    const auto fresh = static_cast<std::uint64_t>(step) * 100;
    const StepCopy down_copy = {.stack = down,
                                .host = trace::MemoryKind::kPageable,
                                .wait = Wait::kInCall,
                                .content = trip.down_content == 0 ? 0 : fresh + trip.down_content};
    const StepCopy up_copy = {.stack = up,
                              .bytes = trip.up_bytes,
                              .host = trace::MemoryKind::kPageable,
                              .wait = Wait::kInCall,
                              .content = trip.up_content == 0 ? 0 : fresh + trip.up_content,
                              .device = trip.up_device};
    if (trip.is_up_first) program.upload(up_copy);
    program.kernel(50 * kUs);
    program.download(down_copy);
    program.work(100 * kUs);
    if (!trip.is_up_first) program.upload(up_copy);
    program.kernel(50 * kUs);
  });
  return program.findings(kRoundTrip);
}

TEST(RoundTrip, OfUnchangedDataIsToldAtTheUpload) {
  const auto findings = round_trip_findings({.down_content = 1, .up_content = 1});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_NE(findings[0].evidence.find("the same data came down at train.py:16"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(RoundTrip, OfChangedDataIsANoteThatClaimsNothingOfTheContent) {
  const auto findings = round_trip_findings({.down_content = 1, .up_content = 2});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_EQ(findings[0].evidence.find("the same data"), std::string::npos) << findings[0].evidence;
}

TEST(RoundTrip, WithoutContentIsANote) {
  const auto findings = round_trip_findings({.down_content = 0, .up_content = 0});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
}

TEST(RoundTrip, IsNotAnUploadOfAnotherSize) {
  EXPECT_TRUE(round_trip_findings({.down_content = 1, .up_content = 2, .up_bytes = 8 * kMiB}).empty());
}

TEST(RoundTrip, IsNotTheWayToAnotherGpu) {
  EXPECT_TRUE(round_trip_findings({.down_content = 1, .up_content = 1, .up_device = 1}).empty());
  EXPECT_TRUE(round_trip_findings({.down_content = 1, .up_content = 2, .up_device = 1}).empty());
}

TEST(RoundTrip, IsNotABatchUpAndItsResultDown) {
  EXPECT_TRUE(round_trip_findings({.down_content = 1, .up_content = 2, .is_up_first = true}).empty());
}

}  // namespace
}  // namespace turnpike::analyze
