// What no finding answers.
#include "report/text/findings_told.h"

#include <gmock/gmock.h>

namespace turnpike::report {
namespace {

using analyze::Bound;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The GPU waits for launches for 70 % of a step; a finding saves so much of it.
analyze::Report report_with(double saving_pct, Bound bound = Bound::kLaunch) {
  analyze::Report report;
  report.steps.emplace();
  report.verdict.bound_by = bound;
  report.verdict.gpu_busy_pct = 30;
  report.verdict.idle.emplace();
  report.verdict.idle->launch_pct = 70;
  analyze::Finding finding;
  finding.rule = "blocking_copy";
  finding.saving_pct = saving_pct;
  finding.saving_step_ns = 1'000;
  finding.saving_step_expected_ns = 1'000;
  report.findings.push_back(finding);
  report.saving_pct_all = saving_pct;
  return report;
}

std::string left_in(const analyze::Report& report) {
  return unanswered_text(report, told_findings(report));
}

TEST(Unanswered, IsTheLargestLossWhereTheFindingsGainLessThanHalfOfIt) {
  EXPECT_THAT(left_in(report_with(5)), StartsWith("The GPU waits for the CPU to issue its work"));
  EXPECT_EQ(left_in(report_with(36)), "");
}

TEST(Unanswered, SaysWhyCompilingIsNotAdvised) {
  analyze::Report report = report_with(5);
  report.verdict.why_not_compiled = "cuDNN runs its layers";
  EXPECT_THAT(left_in(report), HasSubstr("Compiling is not advised: cuDNN runs its layers."));
}

TEST(Unanswered, IsTheComputingOfAProgramThatTheGpuLimits) {
  EXPECT_EQ(left_in(report_with(5, Bound::kGpu)),
            "For 30 % of the time the GPU computes: only faster kernels make that shorter.");
}

TEST(Unanswered, IsAllWithoutAKnownGain) {
  analyze::Report report = report_with(5);
  report.findings.clear();
  EXPECT_THAT(left_in(report),
              StartsWith("Nothing was found that is known to gain 1 % of a step or more. The GPU waits"));
}

}  // namespace
}  // namespace turnpike::report
