// Where the time of a step goes, as a bar and in words.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report::html {

// `what` names the bar ("A step"); `width_pct`: of the page, for bars on one scale. "" when the GPU's share is unknown.
std::string bar_of_step(const analyze::Report& report, const std::string& what, double width_pct = 100);

}  // namespace turnpike::report::html
