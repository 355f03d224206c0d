// sched_getaffinity, and the files of control groups.
#include "move/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace turnpike::move {
namespace {

struct Affinity {
  Affinity() { is_known = sched_getaffinity(0, sizeof cores, &cores) == 0; }

  cpu_set_t cores{};
  bool is_known = false;
};

// Taken when the library is loaded: as early as can be, before an OpenMP runtime has bound anything.
const Affinity kAtLoad;

bool binds_threads() {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != 0) return true;
  }
  return false;
}

unsigned int cores_of_affinity() {
  const Affinity now;
  const Affinity& affinity = binds_threads() && kAtLoad.is_known ? kAtLoad : now;
  if (!affinity.is_known) return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned int>(std::max(1, CPU_COUNT(&affinity.cores)));
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The folder of this process in the second version of control groups, such as "/user.slice".
std::string group_folder() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return {};
}

// The least of the quotas of the group and those above it.
std::optional<unsigned int> cores_of_groups() {
  std::optional<unsigned int> least;
  const auto take = [&least](const std::optional<unsigned int>& cores) {
    if (cores) least = std::min(least.value_or(*cores), *cores);
  };
  std::string folder = group_folder();
  while (true) {
    take(cores_of_quota(first_line("/sys/fs/cgroup" + folder + "/cpu.max")));
    const std::size_t end = folder.rfind('/');
    if (end == std::string::npos || folder.empty()) break;
    folder.resize(end);
  }
  // The first version.
  take(cores_of_quota(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " +
                      first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
  return least;
}

}  // namespace

std::optional<unsigned int> cores_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  long long quota_us = 0;
  long long period_us = 0;
  if (!(text >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;  // "max", -1, nothing
  return static_cast<unsigned int>(std::clamp((quota_us + period_us - 1) / period_us, 1LL, 4096LL));
}

unsigned int usable_cores() {
  const unsigned int cores = cores_of_affinity();
  return std::min(cores, cores_of_groups().value_or(cores));
}

void use_cores_of_process() {
  if (binds_threads() && kAtLoad.is_known) sched_setaffinity(0, sizeof kAtLoad.cores, &kAtLoad.cores);
}

}  // namespace turnpike::move
