// The search for libcupti. PyTorch's wheels carry one beside the other CUDA libraries; a toolkit has it under
// extras/CUPTI or lib.
#include "cuda/cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace turnpike::cuda {
namespace {

struct LoadedLibraries {
  std::vector<std::string> cuda_paths;  // of the process's CUDA runtime and its neighbours, and of libtorch
  int runtime_major = 0;                // 0: no CUDA runtime is loaded as a shared library
  int torch_major = 0;                  // of the runtime that PyTorch was linked with; 0: unknown
};

constexpr char kRuntime[] = "libcudart.so.";

// 0: the name is of no CUDA runtime.
int major_of_runtime(const char* name) {
  constexpr std::size_t kPrefix = sizeof(kRuntime) - 1;
  return std::strncmp(name, kRuntime, kPrefix) == 0 ? std::atoi(name + kPrefix) : 0;
}

// The major version of the runtime that a loaded library needs; 0: it needs none.
int needed_major(const dl_phdr_info& info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  }
  if (dynamic == nullptr) return 0;
  const char* texts = nullptr;  // the loader has made an address of it
  for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  if (texts == nullptr) return 0;
  for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    if (const int major = major_of_runtime(texts + entry->d_un.d_val); major != 0) return major;
  }
  return 0;
}

bool starts_with(const char* name, const char* prefix) {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
}

int note_library(dl_phdr_info* info, std::size_t, void* user) {
  auto& loaded = *static_cast<LoadedLibraries*>(user);
  const char* path = info->dlpi_name;
  if (path == nullptr || *path == '\0') return 0;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  if (const int major = major_of_runtime(name); major != 0) {
    loaded.runtime_major = major;
    loaded.cuda_paths.insert(loaded.cuda_paths.begin(), path);
    return 0;
  }
  const bool is_torch = starts_with(name, "libtorch") || starts_with(name, "libc10_cuda");
  if (is_torch && loaded.torch_major == 0) loaded.torch_major = needed_major(*info);
  if (is_torch || starts_with(name, "libcu") || starts_with(name, "libnv")) loaded.cuda_paths.emplace_back(path);
  return 0;
}

// Of the driver's CUDA version. Loads the driver where nobody has yet: recording may start before the first use of
// CUDA.
int driver_major() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get_version != nullptr) get_version(&version);
  dlclose(driver);
  return version / 1000;
}

// As a toolkit names its folder of libraries for this processor.
#if defined(__aarch64__)
constexpr const char* kTarget = "sbsa-linux";
#else
constexpr const char* kTarget = "x86_64-linux";
#endif

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Where a libcupti of this major version can stand, best first. The last entry leaves it to the system's own search.
std::vector<std::string> candidates(const LoadedLibraries& loaded, int major) {
  const std::string name = "libcupti.so." + std::to_string(major);
  std::vector<std::string> paths;
  const auto add_site_packages = [&](const std::string& site_packages) {
    paths.push_back(site_packages + "/nvidia/cu" + std::to_string(major) + "/lib/" + name);
    paths.push_back(site_packages + "/nvidia/cuda_cupti/lib/" + name);
  };
  const auto add_root = [&](const std::string& root) {
    paths.push_back(root + "/extras/CUPTI/lib64/" + name);
    paths.push_back(root + "/lib64/" + name);
    paths.push_back(root + "/targets/" + kTarget + "/lib/" + name);
  };
  for (const std::string& path : loaded.cuda_paths) {
    const std::string directory = directory_of(path);
    paths.push_back(directory + "/" + name);
    const auto packages = path.find("/site-packages/");
    if (packages != std::string::npos) add_site_packages(path.substr(0, packages) + "/site-packages");
    add_root(directory + "/..");
  }
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&open_cupti_library), &self) != 0 && self.dli_fname != nullptr) {
    const std::string own = self.dli_fname;
    const auto packages = own.find("/site-packages/");
    if (packages != std::string::npos) add_site_packages(own.substr(0, packages) + "/site-packages");
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') add_root(root);
  }
  add_root("/usr/local/cuda");
  paths.push_back(name);
  return paths;
}

}  // namespace

void* open_cupti_library(const char* path, std::string& message) {
  if (path != nullptr && *path != '\0') {
    message = path;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) message = std::string("libcupti could not be opened: ") + dlerror();
    return library;
  }
  LoadedLibraries loaded;
  dl_iterate_phdr(note_library, &loaded);
  // Other packages may bring a CUDA of their own.
  int major = loaded.torch_major != 0 ? loaded.torch_major : loaded.runtime_major;
  if (major == 0) major = driver_major();
  if (major == 0) {
    message = kNoDriver;
    return nullptr;
  }
  const std::string name = "libcupti.so." + std::to_string(major);
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD); library != nullptr) {
    message = name;
    return library;
  }
  for (const std::string& candidate : candidates(loaded, major)) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      message = candidate;
      return library;
    }
  }
  message = name + " was not found beside the program's CUDA libraries, in CUDA_HOME or in the system's search path. " +
            "Install it (pip install nvidia-cuda-cupti" + (major < 13 ? "-cu" + std::to_string(major) : "") +
            ") or set TURNPIKE_CUPTI to its path";
  return nullptr;
}

}  // namespace turnpike::cuda
