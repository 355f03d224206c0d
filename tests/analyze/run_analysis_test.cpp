// Several processes in one report.
#include "analyze/run_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// One upload of 100 bytes at `line`, its call blocking for 5 us.
LoadedProcess rank(std::int64_t start_ns, std::uint32_t line, std::uint32_t stream, const char* detail = "full") {
  ProcessBuilder builder(detail);
  builder.line("/home/user/other.py", 1);  // ids differ between processes
  const auto stack = builder.line("/home/user/train.py", line);
  builder.call({.start_ns = start_ns, .end_ns = start_ns + 5'000, .correlation = 1, .stack = stack});
  builder.copy(
      {.start_ns = start_ns + 1'000, .end_ns = start_ns + 2'000, .correlation = 1, .bytes = 100, .stream = stream});
  return builder.take();
}

Report report_of(const std::vector<LoadedProcess>& processes) {
  return analyze_processes(processes);
}

TEST(RunAnalysis, MergesTheSamePlaceOfSeveralProcesses) {
  std::vector<LoadedProcess> processes;
  processes.push_back(rank(0, 5, 9));
  processes.push_back(rank(100, 5, 7));
  processes.push_back(rank(200, 6, 7));
  const Report report = report_of(processes);
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].site, "train.py:5");
  EXPECT_EQ(report.sites[0].count, 2u);
  EXPECT_EQ(report.sites[0].host_blocked_ns, 10'000);
  EXPECT_THAT(report.sites[0].streams, ElementsAre(7u, 9u));
  EXPECT_EQ(report.totals[0].bytes, 300u);
  EXPECT_EQ(report.source.process_count, 3u);
}

// Of a torch.profiler file without kernels, an option of our recorder is no help.
TEST(RunAnalysis, WithoutKernelsTheVerdictIsUnknownAndTheAdviceIsForTheToolThatRecorded) {
  const auto verdict_of = [](const std::string& kind) {
    const LoadedProcess process = rank(0, 5, 7, "transfers");
    RunAnalysis analysis;
    analysis.add(process.process, process.timeline);
    return analysis.finish(kind).verdict;
  };
  const Verdict verdict = verdict_of("turnpike");
  EXPECT_EQ(verdict.bound_by, std::nullopt);
  EXPECT_EQ(verdict.gpu_busy_pct, std::nullopt);
  EXPECT_EQ(verdict.gpu_idle_pct, std::nullopt);
  EXPECT_EQ(verdict.exposed_transfer_pct, std::nullopt);
  EXPECT_EQ(verdict.why,
            "Kernels were not recorded, so what the GPU did between transfers is unknown. Record with --detail full.");
  EXPECT_EQ(verdict_of("kineto").why,
            "Kernels were not recorded, so what the GPU did between transfers is unknown. Profile with "
            "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].");
}

// The copy runs while the CPU waits for it, and another one beside it.
TEST(RunAnalysis, ALineTakesNoMoreThanTheTimeThatPassed) {
  ProcessBuilder builder;
  const auto stack = builder.line("/home/user/train.py", 5);
  builder.call({.start_ns = 0, .end_ns = 5'000, .correlation = 1, .stack = stack});
  builder.copy({.start_ns = 1'000, .end_ns = 5'000, .correlation = 1, .bytes = 100});
  builder.call({.start_ns = 5'000, .end_ns = 5'100, .correlation = 2, .stack = stack});
  builder.copy({.start_ns = 6'000, .end_ns = 9'000, .correlation = 2, .bytes = 100, .stream = 8, .is_async = true});
  builder.call({.start_ns = 5'100, .end_ns = 5'200, .correlation = 3, .stack = stack});
  builder.copy({.start_ns = 7'000, .end_ns = 9'000, .correlation = 3, .bytes = 100, .stream = 9, .is_async = true});
  std::vector<LoadedProcess> processes;
  processes.push_back(builder.take());
  processes.push_back(rank(0, 5, 7));  // 5 us of the same line at the same time
  const Report report = report_of(processes);
  ASSERT_THAT(report.lines, SizeIs(1));
  EXPECT_EQ(report.lines[0].file, "/home/user/train.py");
  EXPECT_EQ(report.lines[0].line, 5u);
  EXPECT_EQ(report.lines[0].waits_ns, 5'000);
  EXPECT_EQ(report.lines[0].copies_ns, 7'000);
  EXPECT_EQ(report.lines[0].time_ns, 8'000);
}

TEST(RunAnalysis, SpansAllProcesses) {
  std::vector<LoadedProcess> processes;
  processes.push_back(rank(50'000, 5, 7));
  processes.push_back(rank(0, 5, 7));
  EXPECT_EQ(report_of(processes).span_ns, 55'000);
}

TEST(RunAnalysis, SumsLossesByName) {
  std::vector<LoadedProcess> processes;
  processes.push_back(rank(0, 5, 7));
  processes.push_back(rank(0, 5, 7));
  processes[0].process.losses = {{1, 3}, {100, 1}};
  processes[1].process.losses = {{1, 4}, {9999, 2}};
  EXPECT_THAT(report_of(processes).losses,
              ElementsAre(Pair("cupti_dropped", 7u), Pair("loss_9999", 2u), Pair("not_closed", 1u)));
}

TEST(RunAnalysis, CountsIdsThatTheProcessDoesNotDefine) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 1, .correlation = 1, .stack = 4711});
  builder.call({.start_ns = 2, .end_ns = 3, .correlation = 2, .stack = 4711});
  builder.copy({.start_ns = 4, .end_ns = 5, .correlation = 1});
  trace::KernelRecord kernel{};
  kernel.name = 815;
  kernel.correlation = 2;
  builder.loader().on(kernel);
  const Report report = builder.report();
  EXPECT_THAT(report.losses, ElementsAre(Pair("undefined_reference", 2u)));
  EXPECT_EQ(report.sites.at(0).site, "cudaMemcpyAsync");
}

TEST(RunAnalysis, CountsCopiesWithoutADirection) {
  ProcessBuilder builder;
  builder.copy({.kind = trace::CopyKind::kUnknown, .src = trace::MemoryKind::kUnknown});
  EXPECT_THAT(builder.report().losses, ElementsAre(Pair("unknown_activity", 1u)));
}

TEST(RunAnalysis, TakesTheStepsOfTheProcessThatTellsMost) {
  std::vector<LoadedProcess> processes;
  for (const int count : {3, 5}) {
    ProcessBuilder builder;
    for (int i = 0; i < count; ++i) builder.range("step", i * 100, i * 100 + 50);
    processes.push_back(builder.take());
  }
  EXPECT_EQ(report_of(processes).steps->count, 5u);
}

TEST(RunAnalysis, GivesNoVerdictWhenOneProcessRecordedNoKernels) {
  std::vector<LoadedProcess> processes;
  processes.push_back(rank(0, 5, 7));
  EXPECT_EQ(report_of(processes).verdict.bound_by, Bound::kTransfer);
  processes.push_back(rank(0, 5, 7));
  processes[1].process.metadata["detail"] = "transfers";
  const Report report = report_of(processes);
  EXPECT_EQ(report.verdict.bound_by, std::nullopt);
  EXPECT_EQ(report.sites.at(0).exposed_ns, 1'000);  // of the process that tells
  EXPECT_DOUBLE_EQ(*report.sites.at(0).overlapped_pct, 0.0);
}

// Training steps of 100 ms that start at 1 s, after a start-up in which a kernel runs all the time. In each step the
// batch is uploaded after `loading_ms`, and a kernel of 20 ms runs. The first step takes `first_ms`.
LoadedProcess training(std::int64_t loading_ms, std::int64_t first_ms = 100) {
  constexpr std::int64_t kMs = 1'000'000;
  ProcessBuilder builder;
  std::uint32_t correlation = 0;
  const auto launch = [&](std::int64_t at_ns, std::int64_t kernel_ns, trace::AutogradRole role) {
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = at_ns,
                  .end_ns = at_ns + 10'000,
                  .correlation = ++correlation,
                  .role = role});
    builder.kernel({.start_ns = at_ns, .end_ns = at_ns + kernel_ns, .correlation = correlation});
  };
  launch(0, 1000 * kMs, trace::AutogradRole::kForward);
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t at_ns = (1000 + 100 * step + (step == 0 ? 0 : first_ms - 100)) * kMs;
    launch(at_ns, 20 * kMs, trace::AutogradRole::kBackward);
    builder.call({.start_ns = at_ns + loading_ms * kMs,
                  .end_ns = at_ns + loading_ms * kMs + 10'000,
                  .correlation = ++correlation,
                  .role = trace::AutogradRole::kForward,
                  .sequence = 1});
    builder.copy({.start_ns = at_ns + loading_ms * kMs,
                  .end_ns = at_ns + loading_ms * kMs + 5'000,
                  .correlation = correlation,
                  .is_async = true});
  }
  return builder.take();
}

TEST(RunAnalysis, JudgesTheStepsAndNotTheStartUp) {
  std::vector<LoadedProcess> processes;
  processes.push_back(training(90));
  const Report report = report_of(processes);
  EXPECT_EQ(source_text(*report.steps), "backward pass");
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 20.0);
  EXPECT_EQ(report.verdict.bound_by, Bound::kInput);
  EXPECT_THAT(report.verdict.why, StartsWith("Over the 4 whole steps, "));
}

TEST(RunAnalysis, TakesSlownessBehindTheUploadForOtherWorkOfTheCpu) {
  std::vector<LoadedProcess> processes;
  processes.push_back(training(25));
  EXPECT_EQ(report_of(processes).verdict.bound_by, Bound::kHost);
}

TEST(RunAnalysis, JudgesTheProcessesThatHaveSteps) {
  std::vector<LoadedProcess> processes;
  processes.push_back(training(90));
  processes.push_back(rank(0, 5, 7));
  processes.push_back(training(90));
  const Report report = report_of(processes);
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 20.0);
  EXPECT_THAT(report.verdict.why, StartsWith("Over the 8 whole steps of 2 processes, "));
}

TEST(RunAnalysis, SaysThatTheWarmUpOfAnyProcessWasLeftOut) {
  for (const auto& [first_ms, second_ms] : {std::pair(400, 100), std::pair(100, 400)}) {
    std::vector<LoadedProcess> processes;
    processes.push_back(training(90, first_ms));
    processes.push_back(training(90, second_ms));
    const Report report = report_of(processes);
    EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 20.0);
    EXPECT_THAT(report.verdict.why, StartsWith("Over the 7 whole steps of 2 processes after the warm-up, "));
  }
}

// Ten steps of 10 us on the CPU, each of which launches a kernel of 80 us: these begin 50 us after the first launch,
// 100 us after each other.
LoadedProcess running_ahead() {
  ProcessBuilder builder;
  constexpr std::int64_t kUs = 1000;
  constexpr std::int64_t kFirst = 1'000'000;
  for (std::int64_t step = 0; step < 10; ++step) {
    const std::int64_t at_ns = kFirst + step * 10 * kUs;
    builder.range("step", at_ns, at_ns + 10 * kUs);
    const auto correlation = static_cast<std::uint32_t>(step + 1);
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = at_ns,
                  .end_ns = at_ns + 5 * kUs,
                  .correlation = correlation,
                  .name = "cudaLaunchKernel"});
    const std::int64_t begun_ns = kFirst + (50 + step * 100) * kUs;
    builder.kernel({.start_ns = begun_ns, .end_ns = begun_ns + 80 * kUs, .correlation = correlation});
  }
  return builder.take();
}

// Within the CPU's 100 us, the GPU did half of the first step.
TEST(RunAnalysis, JudgesTheTimeOfTheGpuWhereTheCpuRunsAhead) {
  std::vector<LoadedProcess> processes;
  processes.push_back(running_ahead());
  const Report report = report_of(processes);
  ASSERT_TRUE(report.steps && report.steps->is_host_ahead());
  EXPECT_EQ(report.steps->whole_count, 10u);
  constexpr double kSpanUs = 50 + 900 + 80;
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 100 * 800 / kSpanUs);
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_idle_pct, 100 * (50 + 9 * 20) / kSpanUs);
  EXPECT_THAT(report.verdict.why,
              StartsWith("Over the GPU's time for the 10 whole steps, the GPU computed for 77.7 % of the time"));
  std::int64_t in_steps_ns = 0;
  for (const IdleSite& row : report.idle) in_steps_ns += row.in_steps_ns;
  EXPECT_EQ(in_steps_ns, (50 + 9 * 20) * 1000);
  std::uint64_t steps = 0;
  for (const auto& [bound, count] : report.verdict.steps_by_bound) steps += count;
  EXPECT_EQ(steps, 10u);
}

// Its only copy is within its call.
TEST(RunAnalysis, JudgesTheTimeOfTheGpuWithoutSteps) {
  std::vector<LoadedProcess> processes;
  processes.push_back(rank(0, 5, 7));
  const Report report = report_of(processes);
  EXPECT_THAT(report.verdict.why,
              StartsWith("From the GPU's first work to its last, without 1.00 us before and 3.00 us after it, "));
  EXPECT_DOUBLE_EQ(*report.verdict.exposed_transfer_pct, 100);
  EXPECT_EQ(report.span_ns, 5'000);
}

// Set-up takes 1 s, the first batch 2 s.
TEST(RunAnalysis, JudgesLoadingTheFirstBatchToo) {
  constexpr std::int64_t kMs = 1'000'000;
  ProcessBuilder builder;
  const auto line = builder.line("/home/user/train.py", 9);
  const auto loader = builder.stack({builder.operator_frame("enumerate(DataLoader)#_Iter.__next__")});
  for (std::int64_t at = 0; at < 1000; at += 100) builder.sample(at * kMs, line);
  for (std::int64_t at = 1000; at < 3000; at += 100) builder.sample(at * kMs, loader);
  builder.sample(3000 * kMs, line);
  builder.call({.kind = trace::CallKind::kLaunch, .start_ns = 0, .end_ns = 1, .correlation = 1, .result = 1});
  builder.call({.kind = trace::CallKind::kLaunch, .start_ns = 3000 * kMs, .end_ns = 3000 * kMs + 1, .correlation = 2});
  builder.kernel({.start_ns = 3000 * kMs, .end_ns = 3500 * kMs, .correlation = 2});
  std::vector<LoadedProcess> processes;
  processes.push_back(builder.take());
  const Report report = report_of(processes);
  EXPECT_EQ(report.verdict.bound_by, Bound::kInput);
  EXPECT_DOUBLE_EQ(report.verdict.idle->input_pct, 80);
  EXPECT_THAT(report.verdict.why, StartsWith("From the GPU's first work to its last, without 1.00 s before it, "));
}

TEST(RunAnalysis, SaysThatCopiesWithoutTimesHideNothing) {
  ProcessBuilder builder;
  builder.call({.kind = trace::CallKind::kLaunch, .start_ns = 0, .end_ns = 1, .correlation = 1});
  builder.kernel({.start_ns = 0, .end_ns = 100, .correlation = 1});
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .correlation = 2, .bytes = 8});
  std::vector<LoadedProcess> processes;
  processes.push_back(builder.take());
  EXPECT_EQ(report_of(processes).verdict.exposed_transfer_pct, std::nullopt);
}

TEST(RunAnalysis, OfNoProcessIsEmpty) {
  const Report report = report_of({});
  EXPECT_EQ(report.source.process_count, 0u);
  EXPECT_EQ(report.verdict.bound_by, std::nullopt);
}

// So many paths would take gigabytes: the costliest keep theirs, and nothing is lost but the others' lines of
// libraries.
TEST(RunAnalysis, FoldsThePathsBeyondFourThousand) {
  constexpr std::uint32_t kPaths = 4'096 + 100;
  ProcessBuilder builder;
  const auto line = builder.python("train", "/home/me/train.py", 10);
  for (std::uint32_t path = 1; path <= kPaths; ++path) {
    const auto library = builder.python("put", "/venv/lib/python3.12/site-packages/lightning/data.py", path);
    const std::int64_t start_ns = path * 100'000;
    builder.call({.start_ns = start_ns,
                  .end_ns = start_ns + 100 + path,
                  .correlation = path,
                  .stack = builder.stack({library, line})});
    builder.copy({.start_ns = start_ns + 10, .end_ns = start_ns + 20, .correlation = path, .bytes = 8});
  }
  const Report report = builder.report();
  EXPECT_EQ(report.losses, (std::map<std::string, std::uint64_t>{{"paths_folded", 100}}));
  ASSERT_EQ(report.sites.size(), 4'097u);
  std::uint64_t count = 0;
  const Site* folded = nullptr;
  for (const Site& site : report.sites) {
    count += site.count;
    EXPECT_EQ(site.site, "train.py:10");
    if (!site.library_site) folded = &site;
  }
  EXPECT_EQ(count, kPaths);
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(folded->count, 100u);
  EXPECT_EQ(folded->bytes, 800u);
  EXPECT_EQ(report.paths.costs.size(), 4'097u);
}

}  // namespace
}  // namespace turnpike::analyze
