// In which calls the CPU waited for the GPU, as the report counts it.
#pragma once

#include <vector>

#include "analyze/model/timeline.h"

namespace turnpike::report::html {

// By call: synchronisations, and copies that held the host until they were done.
std::vector<bool> waiting_calls(const analyze::Timeline& timeline);

}  // namespace turnpike::report::html
