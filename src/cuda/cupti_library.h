// Finds the libcupti that fits the process it is called in.
#pragma once

#include <string>

namespace turnpike::cuda {

inline constexpr const char* kNoDriver =
    "there is no CUDA driver on this machine (libcuda.so.1, which the NVIDIA driver brings)";

// A dlopen handle that is never closed, or nullptr. `message`: the path that was opened, or what was tried and what to
// do.
void* open_cupti_library(const char* path, std::string& message);

}  // namespace turnpike::cuda
