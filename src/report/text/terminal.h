// The report as text for a person who need not know what pinned memory is.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/report.h"
#include "report/text/sections.h"

namespace turnpike::report {

// Of each table, unless more are asked for.
inline constexpr std::size_t kTableRows = 15;

struct TextOptions {
  std::size_t width = 100;  // columns; no line is wider. At least 40
  bool has_colour = false;
  std::size_t top = kTableRows;  // rows of each table
};

// The first screen (first_screen.h); or these sections, below the first screen's head. All of them: with what else the
// head can tell. Explanations alone follow the first screen. Quotes the lines of source that the first rows name, as
// far as the recording holds them.
std::string to_text(const analyze::Report& report, const TextOptions& options, const Sections& sections = {});

}  // namespace turnpike::report
