// What a step takes, in words.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// " on the CPU, which runs ahead; 1.75 ms on the GPU": what follows the median of a step; "" where the two are the
// same.
std::string host_ahead_text(const analyze::Steps& steps);

}  // namespace turnpike::report
