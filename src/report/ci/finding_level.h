// How code review ranks findings, and what it says of one.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// The level in SARIF: "error", "warning", or "note" for kInfo. GitHub's commands have the first two, too.
const char* level_of(const analyze::Finding& finding);

// The matter, the expected saving, the advice: in sentences, cleaned.
std::string message_of(const analyze::Finding& finding, bool has_steps);

}  // namespace turnpike::report
