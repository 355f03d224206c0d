// The processor cores that this process may use: how many, and which.
#pragma once

#include <sched.h>

#include <optional>
#include <string>
#include <string_view>

namespace turnpike::move {

// Cores that the affinity of this thread and the quota of the control group leave; at least 1. If an OpenMP runtime
// binds threads, the cores of the process count instead of this thread's.
unsigned int usable_cores();

// Gives the calling thread, one of the engine, the cores of the process. A thread inherits the affinity of the thread
// that starts it, and an OpenMP runtime that binds threads (OMP_PROC_BIND, OMP_PLACES) binds the main thread to one
// core, which all threads of the engine would then share. Changes nothing without such a runtime: then somebody chose
// the cores of the starting thread.
//
// The cores of the process are those it had when this library was loaded, and the places of an OpenMP runtime that was
// loaded, and had bound the main thread, before.
void use_cores_of_process();

// The cores that a quota such as "400000 100000" (cpu.max: microseconds in each period of so many) is worth, rounded
// up. None where there is no limit.
std::optional<unsigned int> cores_of_quota(const std::string& cpu_max);

// The least of the quotas of this process's control group and of those above it, whose files are below `root`: of the
// group that /proc/self/cgroup (`groups_path`) names, and of the first version of control groups.
std::optional<unsigned int> cores_of_groups(const std::string& groups_path, const std::string& root);

// Whether the environment has OpenMP runtimes bind threads.
bool binds_threads();
// Whether a library is one, by its file's name. PyTorch brings a libgomp of its own with a name of its own.
bool is_openmp_runtime(std::string_view path);

// What tells the places of an OpenMP runtime. nullptr: it is too old to.
struct OpenMp {
  int (*places)() = nullptr;
  int (*count_of)(int place) = nullptr;
  void (*cores_of)(int place, int* cores) = nullptr;
};
// Adds the cores of all of its places.
void add_places(const OpenMp& runtime, cpu_set_t& cores);

}  // namespace turnpike::move
