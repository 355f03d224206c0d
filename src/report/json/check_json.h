// The result of a check as JSON (schema 1, docs/check.md).
#pragma once

#include <string>

#include "analyze/budget/check.h"

namespace turnpike::report {

// One object, indented, ending with a newline; the rules of report/json/json.h.
std::string to_json(const analyze::CheckResult& result, const analyze::Report& report, const analyze::Budget& budget);

}  // namespace turnpike::report
