// What no finding answers.
#include "report/text/findings_told.h"

#include <gmock/gmock.h>

namespace turnpike::report {
namespace {

using analyze::Bound;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The GPU waits for launches for 70 % of a step; a finding of this rule saves a part of it.
analyze::Report report_with(const std::string& rule, Bound bound = Bound::kLaunch) {
  analyze::Report report;
  report.steps.emplace();
  report.verdict.bound_by = bound;
  report.verdict.gpu_busy_pct = 30;
  report.verdict.idle.emplace();
  report.verdict.idle->launch_pct = 70;
  analyze::Finding finding;
  finding.rule = rule;
  finding.saving_pct = 5;
  finding.saving_step_ns = 1'000;
  finding.saving_step_expected_ns = 1'000;
  report.findings.push_back(finding);
  return report;
}

std::string left_in(const analyze::Report& report) {
  return unanswered_text(report, told_findings(report));
}

TEST(Unanswered, IsWhatTheVerdictNamesWhereNoFindingIsAboutIt) {
  EXPECT_THAT(left_in(report_with("blocking_copy")), StartsWith("The GPU waits for the CPU to issue its work"));
  EXPECT_EQ(left_in(report_with("launch_bound")), "");
  EXPECT_THAT(left_in(report_with("launch_bound", Bound::kHost)),
              HasSubstr("the GPU has nothing to do because the program is busy"));
  EXPECT_EQ(left_in(report_with("cpu_work", Bound::kHost)), "");
}

TEST(Unanswered, SaysWhyCompilingIsNotAdvised) {
  analyze::Report report = report_with("blocking_copy");
  report.verdict.why_not_compiled = "cuDNN runs its layers";
  EXPECT_THAT(left_in(report), HasSubstr("Compiling is not advised: cuDNN runs its layers."));
}

TEST(Unanswered, IsTheComputingOfAProgramThatTheGpuLimits) {
  EXPECT_EQ(left_in(report_with("blocking_copy", Bound::kGpu)),
            "The GPU computes for 30 % of a usual step: only faster kernels make that shorter.");
}

TEST(Unanswered, IsAllWithoutAKnownGain) {
  analyze::Report report = report_with("blocking_copy");
  report.findings.clear();
  EXPECT_THAT(left_in(report),
              StartsWith("Nothing was found that is known to gain 1 % of a step or more. The GPU waits"));
}

}  // namespace
}  // namespace turnpike::report
