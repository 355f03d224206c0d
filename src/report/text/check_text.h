// The result of a check as text for a terminal and for the logs of CI.
#pragma once

#include <string>

#include "analyze/budget/check.h"
#include "report/text/terminal.h"

namespace turnpike::report {

// "1", "12.0 MB", "0.2 ms", "5 %", "sync"; kUnknownText.
std::string measured_text(const analyze::LimitResult& limit);
std::string most_text(const analyze::LimitResult& limit);
std::string share_text(const analyze::LimitResult& limit, double share);

// A breach in one line for an annotation: the limit, what was measured, the places. Untrusted names in it are cleaned.
std::string breach_text(const analyze::LimitResult& limit);

// A line for each limit, below a breach its places or its reason, and the outcome in the last line. `report` and
// `budget` are what was checked.
std::string to_text(const analyze::CheckResult& result, const analyze::Report& report, const analyze::Budget& budget,
                    const TextOptions& options);

}  // namespace turnpike::report
