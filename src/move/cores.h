// The processor cores that this process may use: how many, and which.
#pragma once

#include <optional>
#include <string>

namespace turnpike::move {

// Cores that the affinity of this thread and the quota of the control group leave; at least 1. Where an OpenMP runtime
// binds threads, the affinity that the process had when this library was loaded.
unsigned int usable_cores();

// Gives the calling thread, one of the engine, the affinity of the process. A thread inherits that of the one that
// starts it, and an OpenMP runtime that binds threads (OMP_PROC_BIND, OMP_PLACES) binds the main thread to one core:
// all threads of the engine would share it. Without one nothing is changed, for then somebody chose the cores of the
// starting thread.
void use_cores_of_process();

// The cores that a quota such as "400000 100000" (cpu.max: microseconds in each period of so many) is worth, rounded
// up. None where there is no limit.
std::optional<unsigned int> cores_of_quota(const std::string& cpu_max);

}  // namespace turnpike::move
