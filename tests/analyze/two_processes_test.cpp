// Two processes with different figures: which of them a report speaks of, and what it adds up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using trace::CallKind;

// Whatever comes first, the answer is the same.
Report report_of(LoadedProcess first, LoadedProcess second, bool is_swapped = false) {
  std::vector<LoadedProcess> processes;
  processes.push_back(std::move(is_swapped ? second : first));
  processes.push_back(std::move(is_swapped ? first : second));
  return analyze_processes(processes);
}

// Steps of one upload that the host waits for, and a kernel.
struct Loop {
  int steps = 6;
  std::int64_t upload_ns = 300 * kUs;
  std::int64_t kernel_ns = 100 * kUs;
  std::uint64_t bytes = 1'000'000;
  std::uint32_t line = 17;
};

LoadedProcess process(const Loop& loop) {
  StepProgram program;
  const std::uint32_t stack = program.stack(loop.line, {"copy_", "to_dtype_layout"});
  program.steps(loop.steps, [&](int) {
    program.upload({.stack = stack, .bytes = loop.bytes, .duration_ns = loop.upload_ns, .wait = Wait::kInCall});
    program.kernel(loop.kernel_ns);
  });
  return program.builder().take();
}

constexpr Loop kShort{.steps = 4, .upload_ns = 100 * kUs, .kernel_ns = 300 * kUs, .bytes = 500'000};
constexpr Loop kLong{.steps = 8, .upload_ns = 400 * kUs, .kernel_ns = 100 * kUs, .bytes = 2'000'000};

TEST(TwoProcesses, AddUpAtOnePlace) {
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(process(kShort), process(kLong), is_swapped);
    ASSERT_THAT(report.sites, SizeIs(1));
    const Site& site = report.sites[0];
    EXPECT_EQ(site.count, 12u);
    EXPECT_EQ(site.blocked_count, 12u);
    EXPECT_EQ(site.bytes, 4 * 500'000u + 8 * 2'000'000u);
    EXPECT_EQ(site.device_time_ns, 4 * 100 * kUs + 8 * 400 * kUs);
    EXPECT_EQ(site.in_steps.count, 12u);
    EXPECT_EQ(site.in_steps.bytes, 18'000'000u);
    EXPECT_EQ(site.in_steps.device_time_ns, 3'600 * kUs);
    // No kernel runs beside an upload: they share a stream.
    EXPECT_EQ(site.exposed_ns, 3'600 * kUs);
    EXPECT_DOUBLE_EQ(*site.bandwidth_gbps, 5);
    EXPECT_EQ(report.source.process_count, 2u);
  }
}

TEST(TwoProcesses, CountTheirStepsTogetherAndTellThoseOfTheOneWithMost) {
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(process(kShort), process(kLong), is_swapped);
    ASSERT_TRUE(report.steps);
    EXPECT_EQ(report.steps->count, 8u);
    EXPECT_EQ(report.steps->whole_count, 12u);
    // The upload waits for the kernel before it: 1 + 400 + 3, launch 5, and 100 - 5 - 1 of the kernel.
    EXPECT_EQ(report.steps->median_ns, 509 * kUs);
    EXPECT_THAT(report.verdict.why, StartsWith("Over the 12 whole steps of 2 processes, "));
  }
}

TEST(TwoProcesses, TakeTheBetterSourceOfSteps) {
  ProcessBuilder passes;
  for (std::int64_t step = 0; step < 9; ++step) {
    for (const auto role : {trace::AutogradRole::kForward, trace::AutogradRole::kBackward}) {
      const std::int64_t at_ns = step * 100 + (role == trace::AutogradRole::kBackward ? 50 : 0);
      passes.call({.kind = CallKind::kLaunch, .start_ns = at_ns, .end_ns = at_ns + 1, .role = role});
    }
  }
  ProcessBuilder ranges;
  for (std::int64_t i = 0; i < 3; ++i) ranges.range("step", i * 70, i * 70 + 60);
  const LoadedProcess of_passes = passes.take();
  const LoadedProcess of_ranges = ranges.take();
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(of_passes, of_ranges, is_swapped);
    EXPECT_EQ(source_text(*report.steps), "nvtx:step");
    EXPECT_EQ(report.steps->count, 3u);
    EXPECT_EQ(report.steps->whole_count, 8u + 3u);
  }
}

TEST(TwoProcesses, SayTheFindingOfTheOneThatWouldGainMost) {
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(process(kShort), process(kLong), is_swapped);
    const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                    [](const Finding& finding) { return finding.rule == "blocking_copy"; });
    ASSERT_NE(found, report.findings.end());
    EXPECT_EQ(std::count_if(report.findings.begin(), report.findings.end(),
                            [](const Finding& finding) { return finding.rule == "blocking_copy"; }),
              1);
    // Both would save 7 us a step, the wait and the launch: of 409 us that is more than of 509.
    EXPECT_EQ(found->saving_step_ns, 7 * kUs);
    EXPECT_EQ(found->saving_ns, 28 * kUs);
    EXPECT_NEAR(*found->saving_pct, 100 * 7 / 409.0, 1e-9);
    EXPECT_THAT(found->evidence, StartsWith("once a step, 500 kB each; "));
  }
}

TEST(TwoProcesses, TellTheTimesOfALineInTheOneWhereItTookMost) {
  const Report of_long = report_of(process({.steps = 0}), process(kLong));
  ASSERT_THAT(of_long.lines, SizeIs(1));
  EXPECT_EQ(of_long.lines[0].copies_ns, 8 * 400 * kUs);
  EXPECT_GT(of_long.lines[0].gpu_idle_ns, 0);
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(process(kShort), process(kLong), is_swapped);
    ASSERT_THAT(report.lines, SizeIs(1));
    EXPECT_EQ(report.lines[0].line, 17u);
    EXPECT_EQ(report.lines[0].time_ns, of_long.lines[0].time_ns);
    EXPECT_EQ(report.lines[0].waits_ns, of_long.lines[0].waits_ns);
    EXPECT_EQ(report.lines[0].copies_ns, of_long.lines[0].copies_ns);
    EXPECT_EQ(report.lines[0].gpu_idle_ns, of_long.lines[0].gpu_idle_ns);
  }
}

TEST(TwoProcesses, KeepTheirOwnPlacesApartAndRankThem) {
  Loop other = kLong;
  other.line = 18;
  const Report report = report_of(process(kShort), process(other));
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].site, "train.py:18");
  EXPECT_EQ(report.sites[0].count, 8u);
  EXPECT_EQ(report.sites[1].site, "train.py:17");
  EXPECT_EQ(report.sites[1].count, 4u);
}

// Kernels of `kernel_us` in steps of 100 us, launched by the main thread.
LoadedProcess launching(int steps, std::int64_t kernel_us, std::uint32_t launches, const std::string& thread) {
  ProcessBuilder builder;
  builder.thread(kMainThread, thread);
  std::uint32_t correlation = 0;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t start_ns = step * 100 * kUs;
    builder.range("step", start_ns, start_ns + 100 * kUs);
    for (std::uint32_t i = 0; i < launches; ++i) {
      const std::int64_t at_ns = start_ns + i * 2 * kUs;
      // All but the first one fail.
      builder.call({.kind = CallKind::kLaunch,
                    .start_ns = at_ns,
                    .end_ns = at_ns + kUs,
                    .correlation = ++correlation,
                    .result = i == 0 ? 0 : 1});
      if (i == 0) {
        builder.kernel(
            {.start_ns = at_ns + 3 * kUs, .end_ns = at_ns + (3 + kernel_us) * kUs, .correlation = correlation});
      }
    }
  }
  return builder.take();
}

TEST(TwoProcesses, JudgeTheStepsOfBoth) {
  // Of 400 and 600 us kernels ran for 40 and 360 us.
  const Report report = report_of(launching(4, 10, 3, "few"), launching(6, 60, 2, "many"));
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 40);
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_idle_pct, 60);
  EXPECT_DOUBLE_EQ(*report.verdict.exposed_transfer_pct, 0);
  EXPECT_EQ(report.verdict.bound_by, Bound::kLaunch);
}

TEST(TwoProcesses, TellTheThreadsOfTheOneThatLaunchesMost) {
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(launching(4, 95, 4, "more"), launching(5, 10, 3, "less"), is_swapped);
    ASSERT_THAT(report.verdict.threads, SizeIs(1));  // 16 launches against 15
    EXPECT_EQ(report.verdict.threads[0].name, "more");
    EXPECT_EQ(report.verdict.threads[0].launches, 16u);
    EXPECT_THAT(report.verdict.steps_by_bound, ElementsAre(Pair(Bound::kGpu, 4u)));
    EXPECT_EQ(report.verdict.launch_lead->median_ns, 2 * kUs);
  }
}

// Of each name the process that spent more time in it speaks, and the ranges are ranked by it.
TEST(TwoProcesses, TellTheRangesOfTheOneThatSpentMoreInThem) {
  const auto ranged = [](std::int64_t load_ns, std::int64_t save_ns) {
    ProcessBuilder builder;
    builder.kernel({.start_ns = 0, .end_ns = load_ns / 4});
    builder.range("load", 0, load_ns);
    builder.range("save", 1000, 1000 + save_ns);
    return builder.take();
  };
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(ranged(400, 100), ranged(200, 500), is_swapped);
    ASSERT_THAT(report.ranges, SizeIs(2));
    EXPECT_EQ(report.ranges[0].name, "save");
    EXPECT_EQ(report.ranges[0].total_ns, 500);
    EXPECT_EQ(report.ranges[1].name, "load");
    EXPECT_EQ(report.ranges[1].total_ns, 400);
    EXPECT_EQ(report.ranges[1].count, 1u);
    EXPECT_DOUBLE_EQ(*report.ranges[1].verdict.gpu_busy_pct, 25);
  }
}

TEST(TwoProcesses, TellTheMemoryOfTheOneWithMost) {
  const auto taking = [](std::uint64_t device, std::uint64_t pinned, std::uint64_t resident) {
    ProcessBuilder builder;
    builder.call({.kind = CallKind::kDeviceAlloc, .start_ns = 5, .end_ns = 10, .bytes = device, .dst = 1});
    builder.call({.kind = CallKind::kHostAlloc, .start_ns = 15, .end_ns = 20, .bytes = pinned, .dst = 2});
    builder.resident(30, resident);
    builder.kernel({.start_ns = 0, .end_ns = 40});
    return builder.take();
  };
  for (const bool is_swapped : {false, true}) {
    const Report report = report_of(taking(100, 10, 1000), taking(50, 50, 1011), is_swapped);
    ASSERT_TRUE(report.memory);  // 1110 against 1111
    EXPECT_EQ(report.memory->peak_device_bytes, 50u);
    EXPECT_EQ(report.memory->peak_pinned_bytes, 50u);
    EXPECT_EQ(report.memory->peak_resident_bytes, 1011u);
  }
}

TEST(TwoProcesses, SpanFromTheFirstStartToTheLastEnd) {
  const auto at = [](std::int64_t start_ns, std::int64_t end_ns) {
    ProcessBuilder builder;
    builder.call({.start_ns = start_ns, .end_ns = end_ns});
    return builder.take();
  };
  EXPECT_EQ(report_of(at(100, 900), at(50, 300)).span_ns, 850);
  EXPECT_EQ(report_of(at(50, 300), at(100, 900)).span_ns, 850);
  EXPECT_EQ(report_of(at(50, 1000), at(100, 900)).span_ns, 950);
}

TEST(TwoProcesses, AddUpTheirSynchronisations) {
  const auto waiting = [](std::uint32_t line, std::int64_t length_ns, const std::string& file) {
    ProcessBuilder builder;
    builder.call({.kind = CallKind::kSynchronize,
                  .start_ns = 100,
                  .end_ns = 100 + length_ns,
                  .stack = builder.line(file, line),
                  .name = "cudaDeviceSynchronize"});
    return builder.take();
  };
  const Report same = report_of(waiting(5, 30, "train.py"), waiting(5, 50, "train.py"));
  ASSERT_THAT(same.sync_sites, SizeIs(1));
  EXPECT_EQ(same.sync_sites[0].count, 2u);
  EXPECT_EQ(same.sync_sites[0].host_blocked_ns, 80);
  EXPECT_EQ(same.syncs.count, 2u);
  EXPECT_EQ(same.syncs.host_blocked_ns, 80);
  const Report apart = report_of(waiting(5, 30, "train.py"), waiting(6, 50, "train.py"));
  ASSERT_THAT(apart.sync_sites, SizeIs(2));
  EXPECT_EQ(apart.sync_sites[0].site, "train.py:6");
  EXPECT_EQ(apart.sync_sites[1].site, "train.py:5");
  const Report equal = report_of(waiting(5, 30, "b.py"), waiting(5, 30, "a.py"));
  EXPECT_EQ(equal.sync_sites[0].site, "a.py:5");
}

// Where both cost the same, bytes decide, then the name.
TEST(TwoProcesses, RankEqualPlacesInOneOrder) {
  const auto copying = [](const std::string& file, std::uint64_t bytes) {
    ProcessBuilder builder;
    builder.call({.start_ns = 0, .end_ns = 1, .correlation = 1, .stack = builder.line(file, 1)});
    builder.copy({.start_ns = 0, .end_ns = 1000, .correlation = 1, .bytes = bytes, .is_async = true});
    return builder.take();
  };
  EXPECT_EQ(report_of(copying("a.py", 1), copying("b.py", 2)).sites[0].site, "b.py:1");
  EXPECT_EQ(report_of(copying("b.py", 2), copying("a.py", 1)).sites[0].site, "b.py:1");
  EXPECT_EQ(report_of(copying("b.py", 2), copying("a.py", 2)).sites[0].site, "a.py:1");
  EXPECT_EQ(report_of(copying("a.py", 2), copying("b.py", 2)).sites[0].site, "a.py:1");
}

TEST(TwoProcesses, GiveWhatBothCouldGainAsTheMostOfThem) {
  const Report first = report_of(process(kShort), process(kLong));
  std::vector<LoadedProcess> one;
  one.push_back(process(kLong));
  const Report alone = analyze_processes(one);
  one.clear();
  one.push_back(process(kShort));
  const Report other = analyze_processes(one);
  ASSERT_TRUE(first.saving_pct_all && alone.saving_pct_all && other.saving_pct_all);
  EXPECT_NE(*alone.saving_pct_all, *other.saving_pct_all);
  EXPECT_DOUBLE_EQ(*first.saving_pct_all, std::max(*alone.saving_pct_all, *other.saving_pct_all));
}

}  // namespace
}  // namespace turnpike::analyze
