// Breaches of a budget as SARIF 2.1.0, which code review and editors read.
#pragma once

#include <string>

#include "analyze/budget/check.h"
#include "report/findings/repository_path.h"

namespace turnpike::report {

// One run of one tool: a rule for each limit, a result for each breach, with the place at which to_github() shows it
// and the other places as related locations. Paths are relative URIs.
std::string to_sarif(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository);

}  // namespace turnpike::report
