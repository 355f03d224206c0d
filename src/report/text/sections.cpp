#include "report/text/sections.h"

#include <algorithm>
#include <array>

namespace turnpike::report {
namespace {

constexpr std::array kSections = {
    NamedSection{Section::kFindings, "findings", "Show every finding in full: what was seen, the fix, other ways, why"},
    NamedSection{Section::kThreads, "threads", "Show how far the CPU is ahead, its threads and NVTX ranges"},
    NamedSection{Section::kTransfers, "transfers", "Show the transfers by direction and by line"},
    NamedSection{Section::kSyncs, "syncs", "Show the synchronisations by line"},
    NamedSection{Section::kMemory, "memory", "Show the peaks of memory and the lines that hold most of it"},
    NamedSection{Section::kLosses, "losses", "Show what the recording lacks, and why"},
    NamedSection{Section::kExplanations, "explain", "Explain what is shown: footnotes and definitions"},
};

}  // namespace

std::span<const NamedSection> all_sections() {
  return kSections;
}

std::optional<Section> section_named(std::string_view name) {
  const auto found = std::find_if(kSections.begin(), kSections.end(),
                                  [=](const NamedSection& section) { return section.name == name; });
  return found == kSections.end() ? std::nullopt : std::optional(found->section);
}

Sections every_section() {
  Sections every;
  for (const NamedSection& section : kSections) every.insert(section.section);
  return every;
}

Sections with_tables(Sections sections) {
  const bool is_first_screen = sections.empty() || sections == Sections{Section::kExplanations};
  if (is_first_screen) sections.insert({Section::kTransfers, Section::kSyncs});
  return sections;
}

}  // namespace turnpike::report
