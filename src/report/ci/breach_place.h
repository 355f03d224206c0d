// The line of a repository at which a breach is shown.
#pragma once

#include <optional>

#include "analyze/budget/check.h"
#include "report/findings/repository_path.h"

namespace turnpike::report {

// Of the places of a breach the first that is in the repository; else the line of the budget, where that is in it;
// else nullopt.
std::optional<CodeLine> place_of_breach(const analyze::LimitResult& limit, const analyze::Budget& budget,
                                        const Repository& repository);

}  // namespace turnpike::report
