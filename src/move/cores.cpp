// sched_getaffinity, the places of OpenMP runtimes, and the files of control groups.
#include "move/cores.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

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

// Adds the path of each loaded OpenMP runtime to the vector. PyTorch brings a libgomp of its own with a name of its
// own.
int add_openmp_runtime(dl_phdr_info* module, std::size_t, void* paths) {
  const std::string_view path(module->dlpi_name);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view runtime : {"libgomp", "libiomp5", "libomp"}) {
    if (name.substr(0, runtime.size()) != runtime) continue;
    static_cast<std::vector<std::string>*>(paths)->emplace_back(path);
  }
  return 0;
}

// Adds the cores of a runtime's places: OpenMP 4.5's functions tell them, and the runtime made them from the affinity
// that it found when it was loaded, or from the user's OMP_PLACES.
void add_places(const std::string& runtime, cpu_set_t& cores) {
  // Not closed: the runtime stays loaded for as long as the process lives, as it would without us.
  void* const library = dlopen(runtime.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto places = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_num_places"));
  const auto count_of = reinterpret_cast<int (*)(int)>(dlsym(library, "omp_get_place_num_procs"));
  const auto cores_of = reinterpret_cast<void (*)(int, int*)>(dlsym(library, "omp_get_place_proc_ids"));
  if (places == nullptr || count_of == nullptr || cores_of == nullptr) return;
  for (int place = 0; place < places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(std::max(0, count_of(place))));
    cores_of(place, ids.data());
    for (const int id : ids) {
      if (id >= 0 && id < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(id), &cores);
    }
  }
}

// The cores of the process if an OpenMP runtime binds threads; else unknown.
Affinity cores_of_bound_process() {
  Affinity affinity = kAtLoad;
  affinity.is_known = affinity.is_known && binds_threads();
  if (!affinity.is_known) return affinity;
  std::vector<std::string> runtimes;
  dl_iterate_phdr(add_openmp_runtime, &runtimes);
  for (const std::string& runtime : runtimes) add_places(runtime, affinity.cores);
  return affinity;
}

unsigned int cores_of_affinity() {
  const Affinity of_process = cores_of_bound_process();
  const Affinity affinity = of_process.is_known ? of_process : Affinity();
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
  const Affinity affinity = cores_of_bound_process();
  if (affinity.is_known) sched_setaffinity(0, sizeof affinity.cores, &affinity.cores);
}

}  // namespace turnpike::move
