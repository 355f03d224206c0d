// What the report of several ranks says of their waits for each other.
#include "analyze/rank_waits.h"

#include <gtest/gtest.h>

#include "analyze/two_ranks.h"

namespace turnpike::analyze {
namespace {

Report report_of(const RankWork& first, const RankWork& second) {
  TwoRanks program;
  for (int step = 0; step < 10; ++step) program.step(first, second);
  return analyze_processes(program.take());
}

bool says(const Report& report, const std::string& text) {
  return report.verdict.why.find(text) != std::string::npos;
}

const Finding* finding_of(const Report& report, const std::string& rule) {
  for (const Finding& finding : report.findings) {
    if (finding.rule == rule) return &finding;
  }
  return nullptr;
}

TEST(RankWaits, AreToldWithWhomTheyWaitFor) {
  const Report report = report_of({.kernel_ns = 100'000}, {.kernel_ns = 400'000});
  EXPECT_TRUE(says(report,
                   "Rank 0 waited 300 us a step in collectives with nothing else to run, "
                   "mostly for rank 1 in all-reduce."))
      << report.verdict.why;
}

TEST(RankWaits, AreNotToldWhereRanksComeTogether) {
  const Report report = report_of({.kernel_ns = 400'000}, {.kernel_ns = 400'000});
  EXPECT_FALSE(says(report, "waited")) << report.verdict.why;
}

TEST(RankWaits, AreNotToldOfOneProcess) {
  TwoRanks program;
  for (int step = 0; step < 10; ++step) program.step({.kernel_ns = 100'000}, {.kernel_ns = 400'000});
  auto processes = program.take();
  processes.pop_back();
  const Report report = analyze_processes(processes);
  EXPECT_FALSE(says(report, "ank 0 waited")) << report.verdict.why;
  EXPECT_FALSE(says(report, "collectives")) << report.verdict.why;
}

TEST(RankWaits, SayThatCollectivesCouldNotBeMatched) {
  TwoRanks program;
  for (int step = 0; step < 10; ++step) program.step({.kernel_ns = 100'000}, {.kernel_ns = 400'000});
  auto processes = program.take();
  for (Kernel& kernel : processes[1].timeline.kernels) {
    kernel.start_ns += 3'600'000'000'000;
    kernel.end_ns += 3'600'000'000'000;
  }
  EXPECT_TRUE(says(analyze_processes(processes), "could not be told"));
}

TEST(RankWaits, WhatAnotherKernelCoversIsNoWait) {
  TwoRanks program;
  for (int step = 0; step < 10; ++step) program.step({.kernel_ns = 100'000}, {.kernel_ns = 400'000});
  auto processes = program.take();
  std::vector<RankRun> runs;
  for (const LoadedProcess& one : processes) {
    auto run = rank_run(one.process, one.timeline, {0, 1'000'000'000}, 10);
    ASSERT_TRUE(run);
    runs.push_back(std::move(*run));
  }
  EXPECT_EQ((*rank_waits(runs))[0].step_ns, 300'000);
  runs[0].other_kernels = IntervalSet({{0, 1'000'000'000}});
  EXPECT_EQ((*rank_waits(runs))[0].step_ns, 0);
}

TEST(RankWaits, AFindingOnARankThatIsEarlyAnywayIsDropped) {
  EXPECT_NE(
      finding_of(report_of({.upload_ns = 300'000, .kernel_ns = 100'000}, {.upload_ns = 300'000, .kernel_ns = 100'000}),
                 "blocking_copy"),
      nullptr);
  EXPECT_EQ(
      finding_of(report_of({.upload_ns = 300'000, .kernel_ns = 100'000}, {.kernel_ns = 900'000}), "blocking_copy"),
      nullptr);
}

TEST(RankWaits, TheLastRankGainsUntilTheOtherIsTheLast) {
  // Rank 1 is last by its upload of 300 us; rank 0 waits some 210 us for it.
  const Report report = report_of({.kernel_ns = 500'000}, {.upload_ns = 300'000, .kernel_ns = 400'000});
  const Finding* finding = finding_of(report, "blocking_copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(*finding->saving_step_ns), 208'000, 8000);
  EXPECT_NE(finding->evidence.find("limits"), std::string::npos);
  ASSERT_TRUE(report.saving_pct_all);
  EXPECT_NEAR(*report.saving_pct_all, *finding->saving_pct, 0.1);
}

}  // namespace
}  // namespace turnpike::analyze
