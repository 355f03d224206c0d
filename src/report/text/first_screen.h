// The first screen of the report: what is wrong, which line, what to change, what it gains.
#pragma once

#include <cstddef>

#include "analyze/report.h"
#include "report/text/page.h"

namespace turnpike::report {

// It has no more lines, whatever the report holds.
inline constexpr std::size_t kScreenLines = 40;

void print_first_screen(const analyze::Report& report, Page& page);

}  // namespace turnpike::report
