// Uploads from ordinary memory.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPageableAsyncCopy = "pageable_async_copy";

StepProgram pageable_async_copy_program(const StepCopy& copy, const std::vector<std::string>& operators) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(23, operators);
  program.steps(6, [&](int) {
    program.upload(placed);
    program.kernel(400 * kUs);
  });
  return program;
}

const StepCopy kStaged = {.duration_ns = 2000 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};

TEST(PageableAsyncCopy, IsToldAtItsLineWithItsRate) {
  const auto findings =
      pageable_async_copy_program(kStaged, {"copy_", "to_dtype_layout"}).findings(kPageableAsyncCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:23");
  EXPECT_NE(findings[0].evidence.find("8.39 GB/s, where the link does 55.0 GB/s"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(PageableAsyncCopy, IsNoneOfPageLockedMemory) {
  const StepCopy pinned = {.duration_ns = 2000 * kUs};
  EXPECT_TRUE(pageable_async_copy_program(pinned, {"copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, IsNoneThatTheDriverTakesAlong) {
  StepCopy small = kStaged;
  small.bytes = 4096;
  EXPECT_TRUE(pageable_async_copy_program(small, {"copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, LeavesWhatPyTorchGatheredToItsOwnRule) {
  EXPECT_TRUE(pageable_async_copy_program(kStaged, {"copy_", "copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, AdvisesCudaWhereThereIsNoPyTorch) {
  const auto findings = pageable_async_copy_program(kStaged, {}).findings(kPageableAsyncCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("cudaHostRegister"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
