// The verdict in one sentence.
#include <fmt/format.h>

#include "base/units.h"
#include "report/text/bound_words.h"
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kVerdictLines = 3;
constexpr double kToldCollectivesPct = 1;

std::string whole_text(const analyze::Report& report) {
  if (!report.steps) return fmt::format("the recording lasts {}", duration_text(report.span_ns));
  return fmt::format("a step takes {}", duration_text(report.steps->typical_ns()));
}

// Collectives are no computing, and where they wait for another rank no work at all.
std::string busy_text(const analyze::Verdict& verdict) {
  const double collectives_pct = verdict.exposed_collective_pct.value_or(0);
  if (collectives_pct < kToldCollectivesPct) return "is busy for " + percent_text(verdict.gpu_busy_pct);
  return fmt::format("computes for {} and runs only collectives for {}",
                     percent_text(*verdict.gpu_busy_pct - collectives_pct), percent_text(collectives_pct));
}

}  // namespace

void print_screen_verdict(const analyze::Report& report, Page& page) {
  const analyze::Verdict& verdict = report.verdict;
  std::string text = words_of_bound(verdict.bound_by);
  if (verdict.gpu_busy_pct) {
    text += fmt::format(": {}, and the GPU {} of it.", whole_text(report), busy_text(verdict));
  } else {
    text += ". " + verdict.why;
  }
  page.paragraph("VERDICT  ", text, Style::kHeading, kVerdictLines);
}

}  // namespace turnpike::report
