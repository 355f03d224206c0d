// What to say of a verdict to which no finding with a known gain belongs.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// Sentences: why nothing is proposed, and what would tell more. Needs a verdict that is known.
std::string remark_on(const analyze::Report& report);

// Sentences on the longest wait of the CPU, if it only waits for work that the GPU had queued: it looks like a cause
// but is not one. Empty otherwise, and if a finding is about that place.
std::string wait_remark_on(const analyze::Report& report);

}  // namespace turnpike::report
