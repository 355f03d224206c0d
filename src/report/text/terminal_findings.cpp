// What to do, in full: what was seen, the fix, other ways, and why it may gain less.
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "base/units.h"
#include "report/text/findings_told.h"
#include "report/text/saving_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

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

}  // namespace

void print_findings(const analyze::Report& report, Page& page) {
  if (!report.verdict.gpu_busy_pct) return;  // without kernels nothing was looked for
  page.blank();
  page.line("WHAT TO DO", Style::kHeading);
  const bool has_steps = report.steps.has_value();
  const ToldFindings told = told_findings(report);
  std::size_t number = 0;
  for (const auto& findings : {told.large, told.small}) {
    for (const analyze::Finding* finding : findings) print_finding(*finding, ++number, has_steps, page);
  }
  if (const std::string text = unanswered_text(report, told); !text.empty()) page.paragraph("  ", cleaned(text));
  if (const std::string text = together_text(report, told); !text.empty()) page.paragraph("  ", text);
  if (const std::string remark = wait_remark_on(report); !remark.empty()) page.paragraph("  ", cleaned(remark));
}

}  // namespace turnpike::report
