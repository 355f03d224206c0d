// The memory that the run took, and the lines that hold most of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

constexpr std::size_t kMaxSites = 3;

}  // namespace

void print_memory(const analyze::Report& report, Page& page) {
  if (!report.memory) return;
  const analyze::MemoryUse& use = *report.memory;
  page.blank();
  page.line("MEMORY", Style::kHeading);
  const std::string resident =
      use.peak_resident_bytes ? size_text(*use.peak_resident_bytes) + " of the process, " : std::string();
  page.paragraph(
      "  ", fmt::format("peaks: {}{} of GPU memory and {} of page-locked memory, both as allocated while recording.",
                        resident, size_text(use.peak_device_bytes), size_text(use.peak_pinned_bytes)));
  for (std::size_t i = 0; i < std::min(use.sites.size(), kMaxSites); ++i) {
    const analyze::MemorySite& site = use.sites[i];
    page.paragraph(
        "  ", fmt::format("{} of {} memory at {}, in {} allocation{}", size_text(site.bytes),
                          analyze::name_of(site.kind), cleaned(site.site), site.count, site.count == 1 ? "" : "s"));
  }
}

}  // namespace turnpike::report
