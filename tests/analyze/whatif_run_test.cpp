// What `turnpike whatif` answers, against what the report says of the same change.
#include "analyze/whatif_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

// 60 steps, of which every twentieth saves a checkpoint.
StepProgram saving_checkpoints() {
  StepProgram program;
  const StepCopy tensor = {.stack = program.stack(50, kTo),
                           .bytes = 4 * kMiB,
                           .duration_ns = 400 * kUs,
                           .host = trace::MemoryKind::kPageable,
                           .wait = Wait::kInCall};
  const std::uint32_t freeing = program.stack(10, {});
  program.steps(60, [&](int step) {
    program.call(trace::CallKind::kDeviceFree, freeing, "cudaFree", 200 * kUs);
    program.kernel(300 * kUs);
    program.work(100 * kUs);
    if (step % 20 != 18) return;
    for (int i = 0; i < 16; ++i) program.download(tensor);
  });
  return program;
}

TEST(WhatIfRun, CountsPausesForWhatIsDoneInThemAsTheReportDoes) {
  const LoadedProcess processes[] = {saving_checkpoints().builder().take()};
  const auto pinned = what_if(processes, {{Change::kPin, "train.py:50"}}, link_of(55));
  const auto freed = what_if(processes, {{Change::kRemoveAllocation, "train.py:10"}}, link_of(55));
  ASSERT_TRUE(pinned && pinned->predicted_step_ns && freed && freed->predicted_step_ns);
  const std::vector<Finding> findings = analyze_processes(processes, link_of(55)).findings;
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& one) { return one.rule == "checkpoint_blocks_step"; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(std::llround(pinned->measured_step_ns - *pinned->predicted_step_ns), found->saving_step_ns);
  EXPECT_LT(freed->measured_step_ns, 330'000);  // a usual step takes 306 us
  EXPECT_GT(pinned->measured_step_ns, 600'000);
}

}  // namespace
}  // namespace turnpike::analyze
