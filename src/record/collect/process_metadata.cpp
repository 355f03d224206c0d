// Collects what identifies a process: command line, rank, versions.
#include "record/collect/process_metadata.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file_text.h"
#include "base/loaded_modules.h"
#include "cuda/driver.h"
#include "record/collect/surroundings.h"
#include "record/stacks/python_runtime.h"
#include "trace/format.h"

namespace turnpike::record {
namespace {

std::string command_line() {
  std::string text = file_text("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = '\x1f';
  }
  return text;
}

std::string link_target(const char* path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path, target, sizeof(target));
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// torchrun, then the launchers of MPI and Slurm.
std::string rank() {
  return first_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}

// What started this process, the innermost first: torchrun inside of a Slurm job is "torchrun slurm".
std::string launchers() {
  constexpr std::pair<const char*, const char*> kSigns[] = {{"TORCHELASTIC_RUN_ID", "torchrun"},
                                                            {"RAY_JOB_ID", "ray"},
                                                            {"OMPI_COMM_WORLD_RANK", "mpi"},
                                                            {"SLURM_JOB_ID", "slurm"},
                                                            {"KUBERNETES_SERVICE_HOST", "kubernetes"}};
  std::string text;
  for (const auto& [variable, name] : kSigns) {
    if (!first_of({variable}).empty()) text += (text.empty() ? "" : " ") + std::string(name);
  }
  return text;
}

std::string job_id() {
  std::string of_scheduler = first_of({"SLURM_JOB_ID", "RAY_JOB_ID"});
  if (!of_scheduler.empty()) return of_scheduler;
  const std::string of_torchrun = first_of({"TORCHELASTIC_RUN_ID"});
  return of_torchrun == "none" ? std::string() : of_torchrun;  // what torchrun says without --rdzv-id
}

// The folder of PyTorch's libraries. A walk allocates no memory.
struct Folder {
  char path[PATH_MAX] = "";
};

int note_torch(dl_phdr_info* info, std::size_t, void* user) {
  const char* name = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  if (name == nullptr || std::strcmp(name, "/libtorch_cpu.so") != 0) return 0;
  const auto length = static_cast<std::size_t>(name - info->dlpi_name);
  auto& folder = *static_cast<Folder*>(user);
  if (length < sizeof folder.path) std::memcpy(folder.path, info->dlpi_name, length);
  return 1;
}

// From torch/version.py, which stands beside torch/lib: asking Python would need the GIL.
std::string torch_version() {
  Folder folder;
  for_each_module(note_torch, &folder);
  const std::string library_directory(folder.path);
  if (library_directory.empty()) return {};
  const std::string text = file_text(library_directory + "/../version.py");
  const auto start = text.find("__version__ = '");
  if (start == std::string::npos) return {};
  const auto from = start + std::strlen("__version__ = '");
  return text.substr(from, text.find('\'', from) - from);
}

std::string python_version() {
  const auto get = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (get == nullptr) return {};
  const std::string text = get();
  return text.substr(0, text.find(' '));
}

// Of a Python whose lines cannot be read.
std::string unknown_python_version() {
  find_python();
  const char* text = unknown_python();
  return text == nullptr ? std::string() : text;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Asked once. The handle is never closed: the last one to be closed would run the runtime's destructors on this thread.
int ask_runtime() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    void* runtime = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (runtime == nullptr) continue;
    const auto get = reinterpret_cast<int (*)(int*)>(dlsym(runtime, "cudaRuntimeGetVersion"));
    int version = 0;
    if (get != nullptr && get(&version) == 0 && version > 0) return version;
  }
  return 0;
}

std::string runtime_version() {
  static std::atomic<int> known{0};
  if (known == 0) known = ask_runtime();
  return known == 0 ? std::string() : cuda_version(known);
}

void put(Metadata& metadata, const char* key, std::string value) {
  if (!value.empty()) metadata[key] = std::move(value);
}

}  // namespace

Metadata describe_process(const Options& options) {
  Metadata metadata;
  put(metadata, "turnpike_version", TURNPIKE_VERSION);
  put(metadata, "program", command_line());
  put(metadata, "executable", link_target("/proc/self/exe"));
  put(metadata, "cwd", link_target("/proc/self/cwd"));
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) put(metadata, "host", host);
  put(metadata, "wsl_version", wsl_version());
  put(metadata, "rank", rank());
  put(metadata, "local_rank", first_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}));
  put(metadata, "world_size", first_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}));
  put(metadata, "local_world_size", first_of({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}));
  // torchrun, Ray Train and Lightning, Slurm, and the indexed jobs of Kubernetes.
  put(metadata, "node_rank", first_of({"GROUP_RANK", "NODE_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX"}));
  put(metadata, "node", first_of({"SLURMD_NODENAME", "NODE_NAME", "K8S_NODE_NAME"}));
  put(metadata, "job_id", job_id());
  put(metadata, "restart_count", first_of({"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}));
  put(metadata, "launcher", launchers());
  put(metadata, "detail", name_of(options.detail));
  put(metadata, "stacks", options.has_stacks ? "1" : "0");
  put(metadata, "capture_range", text_of(options.capture_range));
  return metadata;
}

void add_versions(Metadata& metadata, const cuda::Cupti* cupti) {
  put(metadata, "python_version", python_version());
  put(metadata, "unknown_python_version", unknown_python_version());
  put(metadata, "torch_version", torch_version());
  put(metadata, "cuda_runtime_version", runtime_version());
  if (const auto driver = cuda::find_loaded_driver(); driver) {
    int version = 0;
    if (driver->driver_get_version(&version) == 0) put(metadata, "cuda_driver_version", cuda_version(version));
  }
  std::uint32_t version = 0;
  if (cupti != nullptr && cupti->get_version(&version) == cuda::kCuptiSuccess) {
    put(metadata, "cupti_version", std::to_string(version));
  }
}

std::vector<std::byte> encode(const Metadata& metadata) {
  std::vector<std::byte> payload;
  const auto append = [&payload](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    payload.insert(payload.end(), bytes, bytes + size);
  };
  for (const auto& [key, value] : metadata) {
    const trace::MetadataEntry entry{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
    append(&entry, sizeof(entry));
    append(key.data(), key.size());
    append(value.data(), value.size());
    payload.resize((payload.size() + 7) / 8 * 8);
  }
  return payload;
}

std::string trace_file_name(int attempt) {
  const std::string of_rank = rank();
  const bool is_number = !of_rank.empty() && of_rank.find_first_not_of("0123456789") == std::string::npos;
  std::string name = is_number ? "rank" + of_rank + "-" : std::string();
  name += std::to_string(getpid());
  if (attempt > 1) name += "-" + std::to_string(attempt);
  return name + ".tpt";
}

}  // namespace turnpike::record
