// Several findings at one line: which of them is told, and what becomes of the others.
#include "analyze/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/graph/played.h"
#include "analyze/rules/step_program.h"
#include "analyze/whatif_run.h"

namespace turnpike::analyze {
namespace {

constexpr std::uint32_t kLine = 17;

std::vector<Finding> findings_in(StepProgram& program) {
  const LoadedProcess processes[] = {program.builder().take()};
  std::vector<Finding> findings = analyze_processes(processes).findings;
  std::erase_if(findings, [](const Finding& finding) { return finding.site != "train.py:17"; });
  return findings;
}

const Finding* of_rule(const std::vector<Finding>& findings, const std::string& rule) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.rule == rule; });
  return found == findings.end() ? nullptr : &*found;
}

// Uploads at one line in each step; `work_ns` of the host go before.
template <typename CopyOfStep>
StepProgram program_that_uploads(const CopyOfStep& copy_of, std::int64_t work_ns = 0) {
  StepProgram program;
  const std::uint32_t stack = program.stack(kLine, {"copy_", "to_dtype_layout"});
  program.steps(8, [&](int step) {
    StepCopy copy = copy_of(step);
    copy.stack = stack;
    program.work(work_ns);
    program.upload(copy);
    program.kernel(50 * kUs);
  });
  return program;
}

TEST(Findings, OfTwoAnswersToOneQuestionTheOneThatGainsMoreLeads) {
  StepProgram program =
      program_that_uploads([](int) { return StepCopy{.wait = Wait::kInCall, .address = 0x1000, .content = 7}; });
  const auto findings = findings_in(program);
  ASSERT_EQ(findings.size(), 2u);
  const Finding* leader = of_rule(findings, "repeated_upload");
  const Finding* other = of_rule(findings, "blocking_copy");
  ASSERT_TRUE(leader && other);
  EXPECT_GT(leader->saving_pct.value_or(0), other->saving_pct.value_or(100));
  EXPECT_EQ(leader->superseded_by, std::nullopt);
  EXPECT_EQ(other->superseded_by, "repeated_upload");
  EXPECT_NE(leader->evidence.find("; then nothing is left to gain from: " + other->title + " ("), std::string::npos)
      << leader->evidence;
  EXPECT_EQ(other->evidence.find("then nothing is left to gain from"), std::string::npos);
}

// Without the rate of the link nobody knows what pinning gains; but copies that are not made any more need none.
TEST(Findings, WithoutAKnownGainAreLedByWhatTakesTheirCopiesAway) {
  StepProgram program = program_that_uploads([](int) {
    return StepCopy{.bytes = 4 * kMiB,
                    .host = trace::MemoryKind::kPageable,
                    .wait = Wait::kInCall,
                    .address = 0x1000,
                    .content = 7};
  });
  const auto findings = findings_in(program);
  const Finding* pageable = of_rule(findings, "pageable_async_copy");
  ASSERT_TRUE(pageable);
  EXPECT_EQ(pageable->saving_pct, std::nullopt);
  EXPECT_EQ(pageable->superseded_by, "repeated_upload");
}

TEST(Findings, StandBesideEachOtherWhereEachGainsSomething) {
  StepProgram program = program_that_uploads(
      [](int step) {
        return StepCopy{.host = trace::MemoryKind::kPageable,
                        .wait = Wait::kInCall,
                        .address = 0x1000,
                        .content = 7u + static_cast<std::uint64_t>(step)};
      },
      4000 * kUs);
  const auto findings = findings_in(program);
  ASSERT_TRUE(of_rule(findings, "late_loader"));
  ASSERT_TRUE(of_rule(findings, "pageable_async_copy"));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.superseded_by, std::nullopt) << finding.rule;
    EXPECT_EQ(finding.evidence.find("then nothing is left to gain from"), std::string::npos) << finding.evidence;
  }
}

// Were each batch ready, the GPU would be busy for longer than pinning takes. But a thread that makes the batches may
// have none ready, and then pinning takes its time as before.
TEST(Findings, AreNotLedByAdviceThatMayGainNothing) {
  StepProgram program;
  const std::uint32_t pinning = program.stack(kLine, {});
  const std::uint32_t uploading = program.stack(kLine + 1, {"copy_", "to_dtype_layout"});
  const std::uint32_t making = program.stack(kLine + 20, {});
  program.steps(8, [&](int) {
    program.work(2500 * kUs);
    program.sample(making);
    program.work(2500 * kUs);
    program.call(trace::CallKind::kHostRegister, pinning, "cudaHostRegister", 3000 * kUs, 4 * kMiB);
    program.upload({.stack = uploading, .bytes = 4 * kMiB});
    program.sync(uploading, "cudaStreamSynchronize");
    program.kernel(4000 * kUs);
  });
  const auto findings = findings_in(program);
  const Finding* loader = of_rule(findings, "late_loader");
  const Finding* locked = of_rule(findings, "pinning_in_loop");
  ASSERT_TRUE(loader && locked);
  EXPECT_GT(loader->saving_pct.value_or(0), locked->saving_pct.value_or(100));
  EXPECT_EQ(loader->saving_step_low_ns, 0);
  EXPECT_EQ(locked->superseded_by, std::nullopt);
}

TEST(Findings, WarnOfWrongResultsBesideAllElse) {
  StepProgram program;
  const std::uint32_t stack = program.stack(kLine, {"copy_"});
  program.steps(8, [&](int) {
    program.kernel(400 * kUs);
    program.download({.stack = stack, .address = 0x2000});
  });
  const auto findings = findings_in(program);
  const Finding* error = of_rule(findings, "unsafe_read");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->superseded_by, std::nullopt);
  EXPECT_TRUE(of_rule(findings, "copy_on_compute_stream"));
}

TEST(Findings, AreOrderedErrorsFirstThenBySaving) {
  const auto finding = [](Severity severity, std::optional<double> pct) {
    Finding one;
    one.severity = severity;
    one.saving_pct = pct;
    return one;
  };
  EXPECT_TRUE(comes_before(finding(Severity::kError, 1), finding(Severity::kWarning, 50)));
  EXPECT_FALSE(comes_before(finding(Severity::kWarning, 50), finding(Severity::kError, {})));
  EXPECT_TRUE(comes_before(finding(Severity::kInfo, 3), finding(Severity::kWarning, 2)));
  EXPECT_FALSE(comes_before(finding(Severity::kWarning, 2), finding(Severity::kWarning, 2)));
  EXPECT_TRUE(comes_before(finding(Severity::kWarning, 2), finding(Severity::kWarning, {})));
  EXPECT_FALSE(comes_before(finding(Severity::kWarning, {}), finding(Severity::kWarning, 0)));
  Finding seldom = finding(Severity::kWarning, 30);  // its advice reaches a tenth of that
  seldom.saving_step_ns = 100;
  seldom.saving_step_expected_ns = 10;
  EXPECT_TRUE(comes_before(finding(Severity::kWarning, 4), seldom));
  EXPECT_TRUE(comes_before(seldom, finding(Severity::kWarning, 2)));
}

// The report shows savings from 1 % of a step: 5 of 500 us.
TEST(Findings, OfLessThanOnePercentAreNotTold) {
  const auto count = [](std::int64_t work_us) {
    StepProgram program;
    const std::uint32_t stack = program.stack(kLine, {});
    program.steps(8, [&](int) {
      program.work(work_us * kUs);
      program.call(trace::CallKind::kDeviceFree, stack, "cudaFree", 5 * kUs);
    });
    return findings_in(program).size();
  };
  EXPECT_EQ(count(494), 1u);
  EXPECT_EQ(count(495), 0u);
}

TEST(Findings, TogetherGainWhatAllTheirChangesDo) {
  // Each step: 200 us of a free, 300 us of a wait behind a kernel.
  StepProgram program;
  const std::uint32_t freeing = program.stack(kLine, {});
  const std::uint32_t waiting = program.stack(kLine + 1, {});
  program.steps(8, [&](int) {
    program.call(trace::CallKind::kDeviceFree, freeing, "cudaFree", 200 * kUs);
    program.kernel(300 * kUs);
    program.sync(waiting, "cudaDeviceSynchronize");
  });
  const LoadedProcess processes[] = {program.builder().take()};
  const Report report = analyze_processes(processes);
  ASSERT_EQ(report.findings.size(), 2u);  // 200 + 5 + 300 + 5 + 1 = 511 us
  EXPECT_EQ(report.findings[0].rule, "needless_explicit_sync");
  EXPECT_EQ(report.findings[0].saving_step_ns, 210'000);  // 301
  EXPECT_EQ(report.findings[1].rule, "alloc_free_sync");
  EXPECT_EQ(report.findings[1].saving_step_ns, 200'000);  // 311
  EXPECT_NEAR(*report.saving_pct_all, 100 * 210 / 511.0, 1e-9);
}

// Each of 60 steps frees memory and waits behind a kernel; two save a checkpoint, too.
StepProgram saving_checkpoints() {
  StepProgram program;
  const std::uint32_t freeing = program.stack(kLine, {});
  const StepCopy tensor = {.stack = program.stack(kLine + 30, kTo),
                           .bytes = 4 * kMiB,
                           .duration_ns = 400 * kUs,
                           .host = trace::MemoryKind::kPageable,
                           .wait = Wait::kInCall};
  program.steps(60, [&](int step) {
    program.call(trace::CallKind::kDeviceFree, freeing, "cudaFree", 200 * kUs);
    program.kernel(300 * kUs);
    program.work(100 * kUs);
    if (step % 20 != 18) return;
    for (int i = 0; i < 16; ++i) program.download(tensor);
  });
  return program;
}

TEST(Findings, AreOfOneStepAlsoWhereOneConcernsPauses) {
  const LoadedProcess processes[] = {saving_checkpoints().builder().take()};
  const Report report = analyze_processes(processes, link_of(55));
  const Finding* checkpoint = of_rule(report.findings, "checkpoint_blocks_step");
  const Finding* freed = of_rule(report.findings, "alloc_free_sync");
  ASSERT_TRUE(checkpoint && checkpoint->saving_pct && freed && freed->saving_pct);
  const auto step_ns = [](const Finding& finding) {
    return 100 * static_cast<double>(*finding.saving_step_ns) / *finding.saving_pct;
  };
  EXPECT_NEAR(step_ns(*checkpoint), step_ns(*freed), 1);
  EXPECT_GT(step_ns(*freed), 600 * kUs);  // a usual step takes 306 us
  // About as much as both: they are about different calls.
  EXPECT_NEAR(*report.saving_pct_all, *checkpoint->saving_pct + *freed->saving_pct, 3);
}

// Each step launches a kernel whose start takes `lags_us` in turn, works for 500 us and reads a value back.
StepProgram starting_late_in_turn(const std::vector<std::int64_t>& lags_us) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t line = program.stack(kLine, {});
  std::uint32_t correlation = 0;
  std::int64_t at_us = 0;
  for (std::size_t step = 0; step < 20; ++step) {
    const std::int64_t start_us = at_us + lags_us[step % lags_us.size()];
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = at_us * kUs,
                  .end_ns = (at_us + 5) * kUs,
                  .correlation = ++correlation,
                  .name = "cudaLaunchKernel",
                  .device = 0});
    builder.kernel(
        {.start_ns = start_us * kUs, .end_ns = (start_us + 100) * kUs, .correlation = correlation, .device = 0});
    const std::int64_t end_us = std::max(at_us + 505, start_us + 105);
    builder.call({.kind = trace::CallKind::kSynchronize,
                  .start_ns = (at_us + 500) * kUs,
                  .end_ns = end_us * kUs,
                  .correlation = ++correlation,
                  .stack = line,
                  .name = "cudaDeviceSynchronize",
                  .device = 0});
    builder.range("step", at_us * kUs, (end_us + 1) * kUs);
    at_us = end_us + 1;
  }
  return program;
}

struct Judgement {
  double unexplained_share;
  double step_ns;
  Finding finding;
};

Judgement judged(const std::vector<std::int64_t>& lags_us) {
  const Played played(starting_late_in_turn(lags_us));
  const ProcessModel& model = played.model();
  const auto findings = find_findings(model).findings;
  const Finding* found = of_rule(findings, "needless_explicit_sync");
  EXPECT_TRUE(found);
  return {model.unexplained_share(), model.measured_step_ns(), found == nullptr ? Finding() : *found};
}

TEST(Findings, AreAsSureAsTheModelExplainsTheRecording) {
  const Judgement exact = judged({600});
  EXPECT_LT(exact.unexplained_share, 0.02);
  EXPECT_EQ(exact.finding.saving_step_low_ns, exact.finding.saving_step_ns);
  EXPECT_EQ(exact.finding.saving_step_high_ns, exact.finding.saving_step_ns);

  const Judgement fair = judged({350, 480, 350, 560});
  ASSERT_GT(fair.unexplained_share, 0.02);
  ASSERT_LT(fair.unexplained_share, 0.10);
  const std::int64_t margin_ns = std::llround(fair.unexplained_share * fair.step_ns);
  EXPECT_LE(std::abs(*fair.finding.saving_step_high_ns - *fair.finding.saving_step_ns - margin_ns), 1);
  EXPECT_EQ(*fair.finding.saving_step_low_ns, std::max<std::int64_t>(0, *fair.finding.saving_step_ns - margin_ns));
  EXPECT_EQ(fair.finding.saving_step_expected_ns, fair.finding.saving_step_ns);  // whatever the margin

  const Judgement poor = judged({5, 995});
  EXPECT_GT(poor.unexplained_share, 0.10);
  EXPECT_EQ(poor.finding.saving_pct, std::nullopt);
  EXPECT_EQ(poor.finding.saving_step_expected_ns, std::nullopt);
  EXPECT_EQ(poor.finding.saving_reason.find("no saving is claimed: the dependencies that the recording shows give"), 0u)
      << poor.finding.saving_reason;
}

TEST(Findings, ClaimNoSavingWhereWhatIfCannotBeReliedOn) {
  const auto answer_of = [](const std::vector<std::int64_t>& lags_us) {
    const LoadedProcess processes[] = {starting_late_in_turn(lags_us).builder().take()};
    return what_if(processes, {}, link_of(55)).value();
  };
  EXPECT_TRUE(answer_of({600}).is_reliable);
  EXPECT_TRUE(answer_of({350, 480, 350, 560}).is_reliable);
  EXPECT_FALSE(answer_of({5, 995}).is_reliable);
}

}  // namespace
}  // namespace turnpike::analyze
