// What stands between a process and its GPU.
#pragma once

#include <unistd.h>

#include <string>

namespace turnpike::record {

// "2" in the Windows Subsystem for Linux, else "". `root` is where files are looked for.
std::string wsl_version(const std::string& root = "");

// Whether the driver makes this process a client of CUDA's Multi-Process Service: the service has its folder where the
// driver looks for it, and the folder belongs to root or to `user`. Anybody can make a folder in /tmp, but the service
// of another user does not serve this process. The driver itself cannot be asked, since a recording may begin inside
// cuInit.
bool is_mps_client(const std::string& root = "", uid_t user = geteuid());

// Whether tracing of kernels can hang a client of that service: it does with cooperative kernels in CUPTI before 13.0
// and in drivers before 580, whose CUDA is older than 13.0. Versions are numbers as cuDriverGetVersion gives them, and
// CUPTI's as cuptiGetVersion does; 0: unknown.
bool may_kernels_hang_in_mps(unsigned int cupti_version, int driver_version);

}  // namespace turnpike::record
