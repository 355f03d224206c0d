// Breaches of a budget as annotations of GitHub Actions.
#pragma once

#include <string>
#include <string_view>

#include "analyze/budget/check.h"
#include "report/ci/repository_path.h"

namespace turnpike::report {

// A workflow command, `::error file=...,line=...,title=...::...`, for each breach: at its first place that is in the
// repository, else at its line in the budget. Whatever names hold, each is one line and one command.
std::string to_github(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository);

// `text` for the log of a job. Its lines may begin with a name. GitHub's runner obeys a line that begins with "::",
// with or without spaces before it, and a line that contains "##[". A space breaks both up.
std::string without_commands(std::string_view text);

}  // namespace turnpike::report
