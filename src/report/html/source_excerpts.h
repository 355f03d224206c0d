// The source around the lines that cost time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report::html {

struct Excerpt {
  std::string file;  // as in the report
  std::uint32_t first_line = 1;
  std::vector<std::string> lines;
};

// The recorded lines around those that cost most, at most 200 of each file. Each stretch without a gap is an excerpt.
std::vector<Excerpt> excerpts_of(const analyze::Report& report);

}  // namespace turnpike::report::html
