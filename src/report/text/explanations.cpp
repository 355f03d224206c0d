// What the words and figures of the report mean, as far as they are shown.
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "analyze/step_time.h"
#include "base/units.h"
#include "report/text/cause_words.h"
#include "report/text/findings_told.h"
#include "report/text/step_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::Direction;
using analyze::Total;

void print_time(const analyze::Report& report, Page& page) {
  if (!report.verdict.why.empty()) page.paragraph("  ", report.verdict.why);
  for (const analyze::TimePart& part : analyze::parts_of_time(report)) {
    page.paragraph("  ", words_of_part(part) + ": " + meaning_of_part(part) + ".");
  }
}

std::string basis_text(const analyze::Report& report) {
  std::string text = "saves: what the run takes less when it is re-timed with the change";
  if (const auto base_ns = base_of_savings_ns(report); base_ns && report.steps) {
    text += fmt::format(". Percentages are of {}, the mean step", duration_text(*base_ns));
    if (report.source.process_count > 1) text += ", on the rank that would gain most";
  }
  return text + ". A range: the advice may reach more or less. `turnpike whatif` tries other changes.";
}

// How the rate in the column "of the link" is known; empty: measured, as the column says.
std::string link_text(const analyze::Report& report) {
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    const Total& total = report.totals[static_cast<std::size_t>(direction)];
    if (total.count == 0 || !total.link_source) continue;
    const std::string rate = rate_text(total.link_gbps);
    switch (*total.link_source) {
      case analyze::LinkSource::kMeasured:
        continue;
      case analyze::LinkSource::kLearnt:
        return "the best that large page-locked copies of this run reached";
      case analyze::LinkSource::kGeneration:
        return fmt::format("{}: typical of {}, not measured here", rate, total.link_basis);
      case analyze::LinkSource::kModel:
        return fmt::format("{}: typical of {}, which GPUs of this model have; not measured here", rate,
                           total.link_basis);
    }
  }
  return "";
}

void print_transfers(const analyze::Report& report, Page& page) {
  page.paragraph("  ",
                 "pageable: ordinary memory. The GPU cannot reach it, so the driver copies it twice while the CPU "
                 "waits. Page-locked (\"pinned\") memory is copied once, at the speed of the link.");
  page.paragraph("  ", "CPU blocked: your program stood still until a copy or other work was done.");
  if (const std::string link = link_text(report); !link.empty()) {
    page.paragraph(
        "  ", "of the link: " + link + ". Run `turnpike bench link` once, on the machine of the run, to measure it.");
  }
}

void print_tables(Page& page) {
  page.paragraph("  ",
                 "Tables by line begin with the worst: the time that the CPU was blocked plus the time that the GPU "
                 "copied without computing.");
  page.paragraph("  ", "overlap: the share of the copying during which the GPU computed. More is better.");
}

}  // namespace

void print_explanations(const analyze::Report& report, const Sections& sections, Page& page) {
  page.blank();
  page.line("EXPLANATIONS", Style::kHeading);
  if (report.steps) page.paragraph("  ", "Steps: " + steps_text(*report.steps) + ".");
  print_time(report, page);
  if (!report.findings.empty()) page.paragraph("  ", basis_text(report));
  print_transfers(report, page);
  if (sections.contains(Section::kTransfers) || sections.contains(Section::kSyncs)) print_tables(page);
  page.paragraph("  ", "1 kB is 1000 bytes; 1 GB/s is 1e9 bytes per second; \"?\" is what the recording cannot tell.");
}

}  // namespace turnpike::report
