// The report as JSON: the contract that other programs read (schema 1, docs/report.md).
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// One object, indented, ending with a newline. Always valid JSON: bytes that are not UTF-8 become U+FFFD, infinities
// null. Times are integer nanoseconds, sizes bytes; what the source cannot tell is null. Keys stand in a fixed order.
std::string to_json(const analyze::Report& report);

}  // namespace turnpike::report
