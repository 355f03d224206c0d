// What to say of a verdict to which no finding with a known gain belongs.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// Sentences: why nothing is proposed, and what would tell more. Needs a verdict that is known.
std::string remark_on(const analyze::Report& report);

// Sentences on the longest wait of the CPU, if it is long and stands for work that the GPU had queued: it looks like a
// cause, and is none. Empty otherwise, and where a finding is about that place.
std::string wait_remark_on(const analyze::Report& report);

}  // namespace turnpike::report
