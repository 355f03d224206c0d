// What `turnpike whatif` answers, against what the report says of the same change.
#include "analyze/whatif_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyze/rules/step_program.h"
#include "analyze/two_ranks.h"

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

// 12 steps: a kernel, work on the CPU, then a wait or several small uploads, behind which more of the same work stands.
LoadedProcess working(const std::function<void(StepProgram&, std::uint32_t line)>& call) {
  StepProgram program;
  const std::uint32_t line = program.stack(50, kTo);
  program.steps(12, [&](int) {
    program.kernel(100 * kUs);
    for (int i = 0; i < 2; ++i) {
      program.work(2000 * kUs);
      call(program, line);
    }
  });
  return program.builder().take();
}

TEST(WhatIfRun, LeavesTheProgramItsWorkBeforeACallThatIsLeftOut) {
  const LoadedProcess waiting[] = {
      working([](StepProgram& program, std::uint32_t line) { program.sync(line, "cudaDeviceSynchronize"); })};
  const auto without_wait = what_if(waiting, {{Change::kRemoveSync, "train.py:50"}}, link_of(55));
  ASSERT_TRUE(without_wait && without_wait->predicted_step_ns);
  EXPECT_EQ(without_wait->changed[0], 24u);
  EXPECT_GT(*without_wait->predicted_step_ns, 3'900'000);
  const LoadedProcess uploading[] = {working([](StepProgram& program, std::uint32_t line) {
    program.upload({.stack = line, .bytes = 64, .duration_ns = 2 * kUs, .host = trace::MemoryKind::kPageable});
  })};
  const auto merged = what_if(uploading, {{Change::kMergeCopies, "train.py:50"}}, link_of(55));
  ASSERT_TRUE(merged && merged->predicted_step_ns);
  EXPECT_GT(*merged->predicted_step_ns, 3'900'000);
}

// For each finding of a report on two ranks: what `turnpike whatif` says of the same changes at the same line.
void expect_the_same_savings(const RankWork& first, const RankWork& second, std::size_t expected_findings) {
  TwoRanks program;
  for (int step = 0; step < 12; ++step) program.step(first, second);
  const std::vector<LoadedProcess> processes = program.take();
  std::map<std::pair<std::string, std::string>, std::vector<AskedChange>> asked;
  const Report report = analyze_processes(processes, link_of(55), [&](const ProcessView& view) {
    for (const TriedChanges& tried : view.found->tried) {
      auto& changes = asked[{tried.rule, tried.site}];
      changes.clear();
      for (const NamedChange& change : tried.changes) changes.push_back({change.change, tried.site});
    }
  });
  std::size_t compared = 0;
  for (const Finding& finding : report.findings) {
    if (!finding.saving_step_ns || finding.site.empty()) continue;
    const auto answer = what_if(processes, asked.at({finding.rule, finding.site}), link_of(55));
    ASSERT_TRUE(answer && answer->predicted_step_ns) << finding.rule;
    EXPECT_EQ(answer->rank_count, 2u);
    EXPECT_EQ(std::llround(answer->measured_step_ns - *answer->predicted_step_ns), *finding.saving_step_ns)
        << finding.rule;
    ++compared;
  }
  EXPECT_EQ(compared, expected_findings);
}

TEST(WhatIfRun, SaysWhatTheReportSaysOfTwoRanks) {
  // The last rank gains until the other is the last.
  expect_the_same_savings({.kernel_ns = 500'000}, {.upload_ns = 300'000, .kernel_ns = 400'000}, 1);
  // Both gain.
  expect_the_same_savings({.upload_ns = 200'000, .kernel_ns = 400'000}, {.upload_ns = 300'000, .kernel_ns = 400'000},
                          1);
  // The one that waits gains nothing.
  expect_the_same_savings({.upload_ns = 300'000, .kernel_ns = 100'000}, {.kernel_ns = 900'000}, 0);
}

}  // namespace
}  // namespace turnpike::analyze
