// The parts of the text report below its first screen. Each has an option of `turnpike report`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace turnpike::report {

// In their order on the page.
enum class Section : std::uint8_t {
  kFindings,
  kThreads,
  kTransfers,
  kSyncs,
  kMemory,
  kLosses,
  kExplanations  // the footnotes and definitions of what is shown
};
using Sections = std::set<Section>;  // empty: the first screen

struct NamedSection {
  Section section;
  const char* name;     // as an option, without its dashes
  const char* meaning;  // as its help
};
std::span<const NamedSection> all_sections();
std::optional<Section> section_named(std::string_view name);

// Everything.
Sections every_section();
// What is shown where rows of tables are asked for (--top): the tables by line, unless sections are asked for as well.
Sections with_tables(Sections sections);

}  // namespace turnpike::report
