// The words for what limits a program: one home for all texts. analyze::name_of() has the names for other programs.
#pragma once

#include <optional>
#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// "launch-bound"; "limited by several things"; "unknown what limits this program".
std::string words_of_bound(std::optional<analyze::Bound> bound);

}  // namespace turnpike::report
