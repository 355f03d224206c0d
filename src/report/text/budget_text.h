// A budget to start from: the limits that a run keeps today.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// TOML that a whole run itself passes: its counts, its bytes with a tenth to spare, its times with as much again. Says
// in comments what was measured and how to go on. `run` names the run in a comment. It allows no loss because of which
// the figures would be those of a part of a run.
std::string budget_for(const analyze::Report& report, const std::string& run);

}  // namespace turnpike::report
