// The verdict in one sentence.
#include <fmt/format.h>

#include "base/units.h"
#include "report/text/bound_words.h"
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kVerdictLines = 3;

std::string whole_text(const analyze::Report& report) {
  if (!report.steps) return fmt::format("the recording lasts {}", duration_text(report.span_ns));
  return fmt::format("a step takes {}", duration_text(report.steps->typical_ns()));
}

}  // namespace

void print_screen_verdict(const analyze::Report& report, Page& page) {
  const analyze::Verdict& verdict = report.verdict;
  std::string text = words_of_bound(verdict.bound_by);
  if (verdict.gpu_busy_pct) {
    text +=
        fmt::format(": {}, and the GPU is busy for {} of it.", whole_text(report), percent_text(verdict.gpu_busy_pct));
  } else {
    text += ". " + verdict.why;
  }
  page.paragraph("VERDICT  ", text, Style::kHeading, kVerdictLines);
}

}  // namespace turnpike::report
