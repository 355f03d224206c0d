// The report as JSON: the contract that other programs read (schema 1, docs/report.md).
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/finding_data.h"
#include "report/json/names.h"

namespace turnpike::report {

// One object, indented, ending with a newline. Always valid JSON: bytes that are not UTF-8 become U+FFFD, infinities
// null. Times are integer nanoseconds, sizes bytes; what the source cannot tell is null. Keys stand in a fixed order.
// `data`: by finding; it holds source code and paths, and is empty where none may be shown.
std::string to_json(const analyze::Report& report, const std::vector<FindingData>& data = {},
                    Names names = Names::kWhole);

}  // namespace turnpike::report
