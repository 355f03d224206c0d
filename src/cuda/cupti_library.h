// Finds the libcupti that fits the process it is called in.
#pragma once

#include <string>

namespace turnpike::cuda {

// A dlopen handle that is never closed, or nullptr. `message`: the path that was opened, or what was tried and what to
// do.
void* open_cupti_library(const char* path, std::string& message);

}  // namespace turnpike::cuda
