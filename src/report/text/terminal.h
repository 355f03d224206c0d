// The report as text for a person who need not know what pinned memory is.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/report.h"

namespace turnpike::report {

struct TextOptions {
  std::size_t width = 100;  // columns; no line is wider. At least 40
  bool has_colour = false;
  std::size_t top = 15;  // rows of each table
};

// Reads the lines of source that the first rows name, where those files can be read and have not changed since the run.
std::string to_text(const analyze::Report& report, const TextOptions& options);

}  // namespace turnpike::report
