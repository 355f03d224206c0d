// Many small copies of one line.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kRule = "many_small_copies";

StepProgram uploading(int times, std::uint64_t bytes) {
  StepProgram program;
  const std::uint32_t stack = program.stack(16, {"copy_", "to_dtype_layout"});
  program.steps(6, [&](int) {
    for (int i = 0; i < times; ++i) {
      program.work(10 * kUs);
      program.upload({.stack = stack,
                      .bytes = bytes,
                      .duration_ns = 2 * kUs,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kBehind});
    }
    program.kernel(50 * kUs);
  });
  return program;
}

TEST(ManySmallCopies, AreToldAtTheirLine) {
  const auto findings = uploading(32, 4096).findings(kRule, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:16");
  EXPECT_NE(findings[0].evidence.find("32 times a step, 4.10 kB each"), std::string::npos) << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(ManySmallCopies, AreNotABatchAndItsTargets) {
  EXPECT_TRUE(uploading(2, 4096).findings(kRule, link_of(55)).empty());
}

TEST(ManySmallCopies, AreNotLarge) {
  EXPECT_TRUE(uploading(32, kMiB).findings(kRule, link_of(55)).empty());
}

TEST(ManySmallCopies, AreToldOnceAndNotAsBlockingToo) {
  EXPECT_TRUE(uploading(32, 4096).findings("blocking_copy", link_of(55)).empty());
  EXPECT_TRUE(uploading(32, 128u << 10).findings("pageable_async_copy", link_of(55)).empty());
}

}  // namespace
}  // namespace turnpike::analyze
