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

TEST(RankWaits, AreStretchesOfTheRankThatComesFirst) {
  TwoRanks program;
  for (int step = 0; step < 10; ++step) program.step({.kernel_ns = 100'000}, {.kernel_ns = 400'000});
  const auto processes = program.take();
  std::vector<RankRun> runs;
  const Report report = analyze_processes(processes, {}, [&](const ProcessView& view) {
    runs.push_back(*rank_run(view.process, view.timeline, view.idle->span(), 10));
  });
  const auto waits = rank_wait_intervals(runs);
  ASSERT_TRUE(waits);
  ASSERT_EQ((*waits)[0].size(), 10u);
  EXPECT_TRUE((*waits)[1].empty());
  for (const RankWaitInterval& wait : (*waits)[0]) {
    EXPECT_EQ(wait.time.end_ns - wait.time.start_ns, 300'000);
    EXPECT_EQ(wait.awaited_rank, 1u);
    EXPECT_EQ(wait.collective, "all-reduce");
    EXPECT_EQ(wait.device, 0u);
  }
  ASSERT_FALSE(report.idle.empty());
  const IdleSite& row = report.idle.back();
  EXPECT_EQ(row.cause, IdleCause::kRank);
  EXPECT_EQ(row.count, 10u);
  EXPECT_EQ(row.time_ns, 3'000'000);
  EXPECT_EQ(row.in_steps_ns, 3'000'000);
}

// Two streams of a rank that wait at once wait once.
TEST(RankWaits, DoNotOverlap) {
  RankRun early;
  RankRun late;
  for (const std::int64_t offset_ns : {0, 100}) {
    early.collectives.streams.push_back({{offset_ns, 2000, 0, "all-reduce", 3}});
    late.collectives.streams.push_back({{1000, 2000, 0, "all-reduce", 4}});
  }
  early.other_kernels = IntervalSet({{300, 400}});
  const RankRun runs[] = {early, late};
  const auto waits = rank_wait_intervals(runs);
  ASSERT_TRUE(waits);
  std::vector<Interval> times;
  for (const RankWaitInterval& wait : (*waits)[0]) times.push_back(wait.time);
  EXPECT_EQ(IntervalSet(times).total_ns(), 900);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i].start_ns, times[i - 1].end_ns);
  EXPECT_EQ((*waits)[0].front().device, 3u);
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
  EXPECT_FALSE(says(report, "Which collectives")) << report.verdict.why;
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
  EXPECT_EQ(finding->saving_step_ns, 208'000);  // 714 - 506, when each would come to the all-reduce
  EXPECT_EQ(finding->saving_ns, 2'080'000);
  EXPECT_NEAR(*finding->saving_pct, 100 * 208 / 769.0, 1e-9);
  EXPECT_NE(finding->evidence.find("limits"), std::string::npos);
  ASSERT_TRUE(report.saving_pct_all);
  EXPECT_NEAR(*report.saving_pct_all, *finding->saving_pct, 0.1);
}

// What a rank is to the others: its collectives, "all-reduce" each.
RankRun run_of(const std::string& rank, const std::vector<Interval>& collectives, const Interval& window = {0, 1000},
               std::uint64_t step_count = 1) {
  RankRun run{
      .collectives = {.rank = rank, .streams = {{}}}, .other_kernels = {}, .window = window, .step_count = step_count};
  std::uint32_t kernel = 0;
  for (const Interval& one : collectives) {
    run.collectives.streams[0].push_back({one.start_ns, one.end_ns, kernel++, "all-reduce"});
  }
  return run;
}

TEST(RankWaits, AreOfTheWindowAndAMeanOfItsSteps) {
  const std::vector<RankRun> runs = {run_of("", {{100, 500}}, {200, 350}, 3), run_of("", {{400, 500}}, {200, 350}, 3)};
  const auto waits = rank_waits(runs);
  ASSERT_TRUE(waits);
  EXPECT_EQ((*waits)[0].step_ns, 50);
  EXPECT_EQ((*waits)[0].awaited_rank, 1u);
  EXPECT_EQ((*waits)[0].collective, "all-reduce");
  EXPECT_EQ((*waits)[1].step_ns, 0);
}

TEST(RankWaits, OutsideOfTheWindowAreNone) {
  for (const Interval window : {Interval{0, 100}, Interval{400, 1000}}) {
    const std::vector<RankRun> runs = {run_of("", {{100, 500}}, window), run_of("", {{400, 500}}, window)};
    EXPECT_EQ((*rank_waits(runs))[0].step_ns, 0);
  }
}

TEST(RankWaits, NameTheRankThatWasWaitedForLongest) {
  // Rank 0 waits 60 for rank 2, then 40 and 30 for rank 1.
  std::vector<RankRun> runs = {run_of("0", {{0, 100}, {200, 300}, {400, 500}}),
                               run_of("1", {{10, 100}, {240, 300}, {430, 500}}),
                               run_of("2", {{60, 100}, {205, 300}, {405, 500}})};
  EXPECT_EQ((*rank_waits(runs))[0].awaited_rank, 1u);
  EXPECT_EQ((*rank_waits(runs))[0].step_ns, 130);
  EXPECT_EQ((*rank_waits(runs))[1].awaited_rank, 2u);
  EXPECT_EQ((*rank_waits(runs))[1].step_ns, 50);
  EXPECT_EQ((*rank_waits(runs))[2].awaited_rank, 1u);
  EXPECT_EQ((*rank_waits(runs))[2].step_ns, 60);
  for (RankRun& run : runs) run.collectives.streams[0].erase(run.collectives.streams[0].begin() + 2);
  EXPECT_EQ((*rank_waits(runs))[0].awaited_rank, 2u);
  // Beside another kernel for 30 of the 60, the wait for rank 1 is the longer one.
  runs[0].other_kernels = IntervalSet({{30, 70}});
  EXPECT_EQ((*rank_waits(runs))[0].awaited_rank, 1u);
  EXPECT_EQ((*rank_waits(runs))[0].step_ns, 70);
}

// Each rank with the duration of its step.
struct Member {
  RankRun run;
  double step_ns;
};

Report after(const std::vector<Member>& members) {
  RankEffects effects;
  Report report;
  for (const Member& member : members) effects.add(member.run, member.step_ns, {});
  effects.apply_to(report);
  return report;
}

TEST(RankEffects, SayWhoWaitsMostAndHowManyMore) {
  const auto said = [](std::int64_t other_start_ns, std::int64_t third_start_ns, std::uint64_t steps) {
    return after({{run_of("", {{0, 500}}, {0, 1000}, steps), 1000},
                  {run_of("b", {{third_start_ns, 500}}, {0, 1000}, steps), 1000},
                  {run_of("c", {{400, 500}}, {0, 1000}, steps), 1000},
                  {run_of("d", {{other_start_ns, 500}}, {0, 1000}, steps), 1000}})
        .verdict.why;
  };
  const std::string first = " Rank 0 waited 400 ns in collectives with nothing else to run, mostly for rank c in ";
  EXPECT_EQ(said(399, 399, 1), first + "all-reduce.");
  EXPECT_EQ(said(390, 391, 1), first + "all-reduce; 1 other rank waited too.");  // reported from 1 %
  EXPECT_EQ(said(100, 100, 1), first + "all-reduce; 2 other ranks waited too.");
  EXPECT_EQ(said(399, 399, 4),
            " Rank 0 waited 100 ns a step in collectives with nothing else to run, mostly for rank c in all-reduce.");
}

TEST(RankEffects, AreOfSharesOfTheRanksOwnStep) {
  // 60 of 100 are more than 300 of 1000.
  const Report report =
      after({{run_of("a", {{100, 500}}), 1000}, {run_of("b", {{340, 500}}), 100}, {run_of("c", {{400, 500}}), 1000}});
  EXPECT_EQ(report.verdict.why,
            " Rank b waited 60 ns in collectives with nothing else to run, mostly for rank c in all-reduce; 1 other "
            "rank waited too.");
  EXPECT_EQ(after({{run_of("a", {{0, 500}}), 0}, {run_of("b", {{400, 500}}), 0}}).verdict.why, "");
}

std::vector<LoadedProcess> played(const RankWork& first, const RankWork& second, int steps = 10) {
  TwoRanks program;
  for (int step = 0; step < steps; ++step) program.step(first, second);
  return program.take();
}

// More ranks than are re-timed together: each saving is that of its rank alone, and the verdict says so.
TEST(RankEffects, SayThatManyRanksAreNotReTimedTogether) {
  std::vector<LoadedProcess> processes;
  for (int pair = 0; pair < 5; ++pair) {
    for (LoadedProcess& one : played({.kernel_ns = 500'000}, {.upload_ns = 300'000, .kernel_ns = 400'000})) {
      processes.push_back(std::move(one));
    }
  }
  const Report report = analyze_processes(processes);
  EXPECT_TRUE(says(report, "Savings are those of one rank alone, as there are more than 8")) << report.verdict.why;
  const Finding* finding = finding_of(report, "blocking_copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_GT(*finding->saving_step_ns, 250'000);
  processes.resize(8);
  EXPECT_FALSE(says(analyze_processes(processes), "more than"));
  EXPECT_EQ(finding_of(analyze_processes(processes), "blocking_copy")->saving_step_ns, 208'000);
}

TEST(RankRun, HoldsWhatItsDevicesDidBesides) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 10, .end_ns = 20, .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"});
  EXPECT_EQ(rank_run({}, Timeline(), {0, 1}, 1), std::nullopt);
  builder.kernel({.start_ns = 30, .end_ns = 45, .device = 1});
  builder.kernel({.start_ns = 40, .end_ns = 50});
  const LoadedProcess loaded = builder.take();
  const auto run = rank_run(loaded.process, loaded.timeline, {5, 95}, 7);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->other_kernels.intervals(), (std::vector<Interval>{{30, 50}}));
  EXPECT_EQ(run->window, (Interval{5, 95}));
  EXPECT_EQ(run->step_count, 7u);
}

}  // namespace
}  // namespace turnpike::analyze
