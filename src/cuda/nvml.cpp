// Looks up the functions of libnvidia-ml.so.1. Its interface is stable C, and its header is in no package that the
// build needs: the signatures stand in nvml.h.
#include "cuda/nvml.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace turnpike::cuda {
namespace {

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

}  // namespace

Result<Nvml> load_nvml() {
  void* library = dlopen(kNvmlLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{std::string(kNvmlLibrary) + " is not there"};
  Nvml nvml;
  const char* missing = nullptr;
  const auto look_up = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
  const auto find = [&](auto& function, const char* symbol) {
    look_up(function, symbol);
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
  find(nvml.init, "nvmlInitWithFlags");
  find(nvml.shutdown, "nvmlShutdown");
  find(nvml.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  find(nvml.current_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(nvml.current_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(nvml.card_generation, "nvmlDeviceGetGpuMaxPcieLinkGeneration");
  find(nvml.max_width, "nvmlDeviceGetMaxPcieLinkWidth");
  find(nvml.nvlink_state, "nvmlDeviceGetNvLinkState");
  find(nvml.utilization, "nvmlDeviceGetUtilizationRates");
  find(nvml.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  look_up(nvml.gpm_sample_alloc, "nvmlGpmSampleAlloc");
  look_up(nvml.gpm_sample_free, "nvmlGpmSampleFree");
  look_up(nvml.gpm_sample_get, "nvmlGpmSampleGet");
  look_up(nvml.gpm_metrics_get, "nvmlGpmMetricsGet");
  if (missing != nullptr) return Error{std::string(kNvmlLibrary) + " has no " + missing};
  return nvml;
}

}  // namespace turnpike::cuda
