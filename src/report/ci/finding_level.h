// How code review ranks findings, and what it says of one.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// SARIF's words, and those of GitHub's commands where they have one: "error", "warning", and "note" for what is good to
// know.
const char* level_of(const analyze::Finding& finding);

// The matter, the expected saving, the advice: in sentences, cleaned.
std::string message_of(const analyze::Finding& finding, bool has_steps);

}  // namespace turnpike::report
