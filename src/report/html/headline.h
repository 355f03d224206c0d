// The sentence on top of the page, and the line below it.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report::html {

// "Your GPU is idle 16 % of each step. The largest saving is one line: train.py:42". Untrusted.
std::string headline_of(const analyze::Report& report);
// "40 steps, 6.43 ms each (median) · NVIDIA H100 · 288 ms recorded · launch-bound". Untrusted.
std::string details_of(const analyze::Report& report);
// What the recording lacks, in sentences. Untrusted.
std::vector<std::string> missing_of(const analyze::Report& report);

}  // namespace turnpike::report::html
