// Tables as CSV (RFC 4180): a line of names, then a line for each row.
#pragma once

#include <string>
#include <vector>

#include "report/table/batch.h"

namespace turnpike::report::table {

std::string csv_head(const std::vector<Column>& columns);
// What is not known is empty; an empty text is "". A text that a spreadsheet would take for a formula has an apostrophe
// before it, and control characters in texts are escapes (\x1b), except tabs and line breaks. Times are like
// 2026-11-22T08:15:00.123456789Z.
std::string csv_rows(const Batch& batch);

}  // namespace turnpike::report::table
