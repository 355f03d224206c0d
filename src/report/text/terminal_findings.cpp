// What to do, ranked by what it would gain: three lines for each.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/units.h"
#include "report/text/saving_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kMaxFindings = 10;

// What the savings are of: the largest tells it, since what is re-timed is no figure of the report.
std::string basis_text(const analyze::Report& report) {
  const auto largest = std::max_element(
      report.findings.begin(), report.findings.end(),
      [](const auto& a, const auto& b) { return a.saving_pct.value_or(0) < b.saving_pct.value_or(0); });
  std::string text = "Savings are predicted by re-timing what was recorded with the change";
  if (report.steps && largest->saving_pct.value_or(0) > 0 && largest->saving_step_ns) {
    const double step_ns = 100 * static_cast<double>(*largest->saving_step_ns) / *largest->saving_pct;
    // A damaged recording may claim steps that no time holds.
    if (step_ns > 0 && step_ns < static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
      text += fmt::format(": per cent of the {} that the re-timed steps take on average",
                          duration_text(static_cast<std::int64_t>(step_ns)));
      if (report.source.process_count > 1) text += ", on the rank that would gain most";
    }
  }
  return text + ".";
}

std::string place_text(const analyze::Finding& finding) {
  if (finding.site.empty()) return "the step as a whole";
  return cleaned(place_words(finding.site, finding.library_site));
}

void print_finding(const analyze::Finding& finding, std::size_t number, bool has_steps, Page& page) {
  const Style style = finding.severity == analyze::Severity::kError ? Style::kWarning : Style::kHeading;
  page.paragraph(
      fmt::format("{:>3}  ", number),
      fmt::format("{}: {}; {}", place_text(finding), cleaned(finding.title), saving_text(finding, has_steps)), style);
  page.paragraph("     what  ", cleaned(finding.evidence));
  page.paragraph("     fix   ", cleaned(finding.advice));
  for (const analyze::Alternative& alternative : finding.alternatives) {
    page.paragraph("     or    ", cleaned(alternative_text(finding, alternative, has_steps)));
  }
  if (!finding.saving_reason.empty()) page.paragraph("     gain  ", cleaned(finding.saving_reason));
}

// Those that no other at the same place leads.
std::vector<const analyze::Finding*> leading_findings(const analyze::Report& report) {
  std::vector<const analyze::Finding*> leading;
  for (const analyze::Finding& finding : report.findings) {
    if (!finding.superseded_by) leading.push_back(&finding);
  }
  return leading;
}

// What the findings gain together, and how that is known; or why there is nothing to gain.
void print_gains(const analyze::Report& report, const std::vector<const analyze::Finding*>& findings, Page& page) {
  const bool has_steps = report.steps.has_value();
  const bool is_gain_known = std::any_of(findings.begin(), findings.end(), [](const analyze::Finding* finding) {
    return finding->saving_pct.has_value();
  });
  if (!is_gain_known) {
    page.paragraph("  ",
                   fmt::format("Nothing {}was found that is known to gain 1 % of {} or more. {}",
                               findings.empty() ? "" : "else ", has_steps ? "a step" : "the time", remark_on(report)));
    return;
  }
  if (report.saving_pct_all && findings.size() > 1) {
    page.paragraph("  ",
                   fmt::format("Every change whose gain is known, made together with the others, saves {} of {}: one "
                               "can hide what another gains or make room for it, so they do not add up.",
                               percent_text(report.saving_pct_all), has_steps ? "a step" : "the time"));
  }
  page.paragraph("  ", basis_text(report) + " `turnpike whatif` tries others.");
}

}  // namespace

void print_findings(const analyze::Report& report, Page& page) {
  if (!report.verdict.gpu_busy_pct) return;  // without kernels nothing was looked for
  page.blank();
  page.line("WHAT TO DO", Style::kHeading);
  const bool has_steps = report.steps.has_value();
  const auto findings = leading_findings(report);
  const std::size_t count = std::min(findings.size(), kMaxFindings);
  for (std::size_t index = 0; index < count; ++index) {
    print_finding(*findings[index], index + 1, has_steps, page);
  }
  if (findings.size() > count) {
    page.line(fmt::format("  and {} more: --json holds all", findings.size() - count));
  }
  print_gains(report, findings, page);
  if (const std::string remark = wait_remark_on(report); !remark.empty()) page.paragraph("  ", cleaned(remark));
}

}  // namespace turnpike::report
