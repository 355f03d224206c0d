// Breaches of a budget as annotations of GitHub Actions.
#pragma once

#include <string>

#include "analyze/budget/check.h"
#include "report/findings/repository_path.h"

namespace turnpike::report {

// A workflow command, `::error file=...,line=...,title=...::...`, for each breach: at its first place that is in the
// repository, else at its line in the budget. Whatever names hold, each is one line and one command.
std::string to_github(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository);

}  // namespace turnpike::report
