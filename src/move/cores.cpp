// sched_getaffinity, the places of OpenMP runtimes, and the files of control groups.
#include "move/cores.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
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

// Adds the path of each loaded OpenMP runtime to the vector.
int add_openmp_runtime(dl_phdr_info* module, std::size_t, void* paths) {
  if (is_openmp_runtime(module->dlpi_name)) {
    static_cast<std::vector<std::string>*>(paths)->emplace_back(module->dlpi_name);
  }
  return 0;
}

// The functions of OpenMP 4.5 that tell the places. The runtime made these from the affinity that it found when it was
// loaded, or from the user's OMP_PLACES.
OpenMp functions_of(const std::string& runtime) {
  // Not closed: the runtime stays loaded for as long as the process lives, as it would without us.
  void* const library = dlopen(runtime.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return {};
  return {reinterpret_cast<int (*)()>(dlsym(library, "omp_get_num_places")),
          reinterpret_cast<int (*)(int)>(dlsym(library, "omp_get_place_num_procs")),
          reinterpret_cast<void (*)(int, int*)>(dlsym(library, "omp_get_place_proc_ids"))};
}

// The cores of the process if an OpenMP runtime binds threads; else unknown.
Affinity cores_of_bound_process() {
  Affinity affinity = kAtLoad;
  affinity.is_known = affinity.is_known && binds_threads();
  if (!affinity.is_known) return affinity;
  std::vector<std::string> runtimes;
  dl_iterate_phdr(add_openmp_runtime, &runtimes);
  for (const std::string& runtime : runtimes) add_places(functions_of(runtime), affinity.cores);
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
std::string group_folder(const std::string& groups_path) {
  std::ifstream groups(groups_path);
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

}  // namespace

std::optional<unsigned int> cores_of_quota(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  long long quota_us = 0;
  long long period_us = 0;
  if (!(text >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;  // "max", -1, nothing
  return static_cast<unsigned int>(std::clamp((quota_us + period_us - 1) / period_us, 1LL, 4096LL));
}

std::optional<unsigned int> cores_of_groups(const std::string& groups_path, const std::string& root) {
  std::optional<unsigned int> least;
  const auto take = [&least](const std::optional<unsigned int>& cores) {
    if (cores) least = std::min(least.value_or(*cores), *cores);
  };
  std::string folder = group_folder(groups_path);
  while (true) {
    take(cores_of_quota(first_line(root + folder + "/cpu.max")));
    const std::size_t end = folder.rfind('/');
    if (end == std::string::npos) break;
    folder.resize(end);
  }
  // The first version.
  take(cores_of_quota(first_line(root + "/cpu/cpu.cfs_quota_us") + " " + first_line(root + "/cpu/cpu.cfs_period_us")));
  return least;
}

bool binds_threads() {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != 0) return true;
  }
  return false;
}

bool is_openmp_runtime(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(std::array<std::string_view, 3>{"libgomp", "libiomp5", "libomp"},
                             [name](std::string_view runtime) { return name.starts_with(runtime); });
}

void add_places(const OpenMp& runtime, cpu_set_t& cores) {
  if (runtime.places == nullptr || runtime.count_of == nullptr || runtime.cores_of == nullptr) return;
  for (int place = 0; place < runtime.places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(std::max(0, runtime.count_of(place))));
    runtime.cores_of(place, ids.data());
    for (const int id : ids) {
      if (id >= 0 && id < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(id), &cores);
    }
  }
}

unsigned int usable_cores() {
  const unsigned int cores = cores_of_affinity();
  return std::min(cores, cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup").value_or(cores));
}

void use_cores_of_process() {
  const Affinity affinity = cores_of_bound_process();
  if (affinity.is_known) sched_setaffinity(0, sizeof affinity.cores, &affinity.cores);
}

}  // namespace turnpike::move
