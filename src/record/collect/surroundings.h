// What stands between a process and its GPU.
#pragma once

#include <string>

namespace turnpike::record {

// "2" in the Windows Subsystem for Linux, else "". `root` is where files are looked for.
std::string wsl_version(const std::string& root = "");

// Whether CUDA's Multi-Process Service runs where this process would find it: then the driver makes it a client.
bool is_mps_client(const std::string& root = "");

// Whether tracing of kernels can hang a client of that service: it does with cooperative kernels in CUPTI before 13.0
// and in drivers before 580, whose CUDA is older than 13.0. Versions are numbers as cuDriverGetVersion gives them, and
// CUPTI's as cuptiGetVersion does; 0: unknown.
bool may_kernels_hang_in_mps(unsigned int cupti_version, int driver_version);

}  // namespace turnpike::record
