// The tables of the document: transfers, synchronisations, ranges, memory, the run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report::html {

std::string tables_html(const analyze::Report& report);
// Each of them; "" where there is nothing to show.
std::vector<std::string> table_parts(const analyze::Report& report, std::size_t max_rows);

}  // namespace turnpike::report::html
