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

// What a line of the program costs over the run.
struct LineCost {
  std::string file;
  std::uint32_t line = 0;
  std::int64_t blocked_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t idle_ns = 0;

  std::int64_t total_ns() const { return blocked_ns + copy_ns; }
};

// Most first. A synchronisation that belongs to a transfer of the same line counts once.
std::vector<LineCost> line_costs(const analyze::Report& report);

// Of files that can be read and are not newer than the run; at most 200 lines of each, around those that cost most.
std::vector<Excerpt> excerpts_of(const analyze::Report& report);

}  // namespace turnpike::report::html
