// What a step takes, in words.
#pragma once

#include <string>

#include "analyze/compare/compare.h"
#include "analyze/report.h"

namespace turnpike::report {

// " on the CPU, which runs ahead; 1.75 ms on the GPU": what follows the median of a step; "" where the two are the
// same.
std::string host_ahead_text(const analyze::Steps& steps);

// "60, each 66.5 us (median) on the CPU, which runs ahead; 1.75 ms on the GPU, found by backward pass".
std::string steps_text(const analyze::Steps& steps);

// What the durations of a comparison are of, as the name of a row.
const char* duration_title(const analyze::Comparison& comparison);

}  // namespace turnpike::report
