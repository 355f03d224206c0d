// Copies that hold the host though they need not.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kBlockingCopy = "blocking_copy";

// The host's own work comes behind the wait, so that it adds to the step.
StepProgram blocking_copy_program(const StepCopy& copy, const std::vector<std::string>& operators) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(17, operators);
  program.steps(6, [&](int) {
    program.upload(placed);
    program.work(200 * kUs);
    program.kernel(400 * kUs);
  });
  return program;
}

StepProgram downloading(const StepCopy& copy) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(40, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int) {
    program.kernel(400 * kUs);
    program.download(placed);
    program.work(300 * kUs);
  });
  return program;
}

TEST(BlockingCopy, IsAPinnedUploadThatIsWaitedFor) {
  const auto findings =
      blocking_copy_program({.wait = Wait::kBehind}, {"copy_", "to_dtype_layout"}).findings(kBlockingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_NE(findings[0].advice.find("non_blocking=True"), std::string::npos);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 10);
}

TEST(BlockingCopy, IsASynchronousCallWithoutPyTorch) {
  const auto findings =
      blocking_copy_program({.wait = Wait::kInCall, .api = "cudaMemcpy"}, {}).findings(kBlockingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("cudaMemcpyAsync"), std::string::npos);
}

TEST(BlockingCopy, IsNoneThatIsAsynchronous) {
  EXPECT_TRUE(blocking_copy_program({}, {"copy_", "to_dtype_layout"}).findings(kBlockingCopy, link_of(55)).empty());
}

TEST(BlockingCopy, LeavesOrdinaryMemoryToItsOwnRule) {
  const StepCopy pageable = {.duration_ns = 2000 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};
  EXPECT_TRUE(
      blocking_copy_program(pageable, {"copy_", "to_dtype_layout"}).findings(kBlockingCopy, link_of(55)).empty());
}

TEST(BlockingCopy, IsALargeResultFetchedOnTheSpot) {
  const StepCopy result = {.bytes = 4 * kMiB, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};
  const auto findings = downloading(result).findings(kBlockingCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:40");
  EXPECT_NE(findings[0].advice.find("tp.fetch"), std::string::npos);
}

TEST(BlockingCopy, NamesMallocWhereLargeResultsComeIntoNewPages) {
  const auto finding_at = [](std::uint64_t bytes, std::int64_t duration_ns) {
    const StepCopy result = {
        .bytes = bytes, .duration_ns = duration_ns, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};
    const auto findings = downloading(result).findings(kBlockingCopy, link_of(55));
    return findings.empty() ? Finding() : findings[0];
  };
  const Finding slow = finding_at(4 * kMiB, 3500 * kUs);  // 1.2 GB/s
  ASSERT_EQ(slow.alternatives.size(), 1u);
  EXPECT_NE(slow.alternatives[0].advice.find("MALLOC_MMAP_THRESHOLD_"), std::string::npos);
  // A copy into pages that are there takes 4 MiB / 12 GB/s, and the CPU waits for it.
  constexpr std::int64_t kStaysNs = 349'525;
  EXPECT_NEAR(static_cast<double>(*slow.saving_step_low_ns - *slow.alternatives[0].saving_step_low_ns), kStaysNs, 1);
  EXPECT_NEAR(static_cast<double>(*slow.saving_step_high_ns - *slow.alternatives[0].saving_step_high_ns), kStaysNs, 1);
  EXPECT_TRUE(finding_at(4 * kMiB, 800 * kUs).alternatives.empty()) << "5.2 GB/s";
  EXPECT_TRUE(finding_at(kMiB - 1, 3500 * kUs).alternatives.empty()) << "malloc keeps it";
}

TEST(BlockingCopy, LeavesAValueToItsOwnRule) {
  const StepCopy value = {
      .bytes = 4, .duration_ns = 2 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kBehind};
  EXPECT_TRUE(downloading(value).findings(kBlockingCopy, link_of(55)).empty());
}

}  // namespace
}  // namespace turnpike::analyze
