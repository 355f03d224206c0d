// What the threads of this process are doing beside the calling one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turnpike::record {

// Whether a thread may call CUDA now, or before long without being asked by the calling thread. `heard`: those that
// have called it, by their system's ids; they may have ended. PyTorch's autograd threads work only while somebody waits
// for a backward pass. `tasks`: the folder of the threads, for tests. Waits some milliseconds for threads that run.
bool may_others_call_cuda(const std::vector<std::uint32_t>& heard, const std::string& tasks = "/proc/self/task");

}  // namespace turnpike::record
