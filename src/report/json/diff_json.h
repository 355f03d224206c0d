// The comparison of two runs as JSON (schema 1, docs/diff.md).
#pragma once

#include <string>

#include "analyze/compare/compare.h"
#include "report/json/names.h"

namespace turnpike::report {

// One object, indented, ending with a newline; the rules of report/json/json.h. `before` and `after` are what
// `comparison` was made of.
std::string to_json(const analyze::Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    Names names = Names::kWhole);

}  // namespace turnpike::report
