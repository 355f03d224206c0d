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

// `text` for the log of a job: names in it may begin a line, and GitHub's runner obeys lines that begin with "::", also
// behind spaces, and those with "##[" anywhere. Such places get a space in between.
std::string without_commands(std::string_view text);

}  // namespace turnpike::report
