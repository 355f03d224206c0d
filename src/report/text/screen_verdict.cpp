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

// A GPU that runs only collectives does not compute, and may just wait for another rank.
std::string busy_text(const analyze::Verdict& verdict) {
  const double collectives_pct = verdict.exposed_collective_pct.value_or(0);
  if (collectives_pct < kToldCollectivesPct) return "is busy for " + percent_text(verdict.gpu_busy_pct);
  return fmt::format("computes for {} and runs only collectives for {}",
                     percent_text(*verdict.gpu_busy_pct - collectives_pct), percent_text(collectives_pct));
}

// Without steps a verdict is about the time from the GPU's first work to its last.
std::string sentence_of(const analyze::Report& report) {
  const std::string busy = busy_text(report.verdict);
  if (!report.steps) return "from its first work to its last, the GPU " + busy + ".";
  return fmt::format("a step takes {}, and the GPU {} of it.", duration_text(report.steps->typical_ns()), busy);
}

}  // namespace

void print_screen_verdict(const analyze::Report& report, Page& page) {
  const analyze::Verdict& verdict = report.verdict;
  std::string text = words_of_bound(verdict.bound_by);
  if (verdict.gpu_busy_pct) {
    text += ": " + sentence_of(report);
  } else {
    text += ". " + verdict.why;
  }
  page.paragraph("VERDICT  ", text, Style::kHeading, kVerdictLines);
}

}  // namespace turnpike::report
