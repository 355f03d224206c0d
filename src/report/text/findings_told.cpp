#include "report/text/findings_told.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/saving_words.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

constexpr double kLargePct = 1;

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

bool is_gain_known(const std::vector<const analyze::Finding*>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const analyze::Finding* finding) { return finding->saving_pct.has_value(); });
}

std::string nothing_to_gain_text(const analyze::Report& report, bool is_all) {
  return fmt::format("Nothing {}was found that is known to gain 1 % of {} or more. {}", is_all ? "" : "else ",
                     report.steps ? "a step" : "the time", remark_on(report));
}

}  // namespace turnpike::report
