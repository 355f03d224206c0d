#include "report/text/findings_told.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/step_time.h"
#include "base/units.h"
#include "report/text/saving_words.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

constexpr double kLargePct = 1;
// Findings that together gain less of the largest loss leave most of it as it is.
constexpr double kAnsweredShare = 0.5;

bool is_gain_known(const std::vector<const analyze::Finding*>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const analyze::Finding* finding) { return finding->saving_pct.has_value(); });
}

double largest_loss_pct(const analyze::Report& report) {
  double largest_pct = 0;
  for (const analyze::TimePart& part : analyze::parts_of_time(report)) {
    if (part.use != analyze::TimeUse::kComputing) largest_pct = std::max(largest_pct, part.pct);
  }
  return largest_pct;
}

bool is_answered(const analyze::Report& report) {
  return report.saving_pct_all.value_or(0) >= kAnsweredShare * largest_loss_pct(report);
}

std::string computing_text(const analyze::Verdict& verdict) {
  return fmt::format("For {} of the time the GPU computes: only faster kernels make that shorter.",
                     percent_text(verdict.gpu_busy_pct));
}

}  // namespace

ToldFindings told_findings(const analyze::Report& report) {
  ToldFindings told;
  for (const analyze::Finding& finding : report.findings) {
    if (finding.superseded_by) continue;
    const auto saving = saving_of(finding);
    const bool is_small = saving && saving->expected_pct() < kLargePct;
    (is_small ? told.small : told.large).push_back(&finding);
  }
  return told;
}

std::string unanswered_text(const analyze::Report& report, const ToldFindings& told) {
  if (is_gain_known(told.large)) {
    if (report.verdict.bound_by == analyze::Bound::kGpu) return computing_text(report.verdict);
    return is_answered(report) ? "" : remark_on(report);
  }
  return fmt::format("Nothing {}was found that is known to gain 1 % of {} or more. {}",
                     told.large.empty() ? "" : "else ", report.steps ? "a step" : "the time", remark_on(report));
}

}  // namespace turnpike::report
