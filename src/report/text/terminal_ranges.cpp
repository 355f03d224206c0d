// The verdict of each NVTX range.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/bound_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kMaxRanges = 8;

}  // namespace

void print_ranges(const analyze::Report& report, Page& page) {
  if (report.ranges.size() < 2) return;  // the steps alone: the verdict is about them
  page.blank();
  page.line("NVTX RANGES", Style::kHeading);
  for (std::size_t i = 0; i < std::min(report.ranges.size(), kMaxRanges); ++i) {
    const analyze::RangeVerdict& range = report.ranges[i];
    page.paragraph("  ", fmt::format("{}: {} x {}, {}; GPU busy {}, idle {}", cleaned(range.name), range.count,
                                     duration_text(range.total_ns / static_cast<std::int64_t>(range.count)),
                                     words_of_bound(range.verdict.bound_by), percent_text(range.verdict.gpu_busy_pct),
                                     percent_text(range.verdict.gpu_idle_pct)));
  }
}

}  // namespace turnpike::report
