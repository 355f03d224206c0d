// The functions of NVML that Turnpike calls, found at run time: what a GPU's link is, what it carries, and who else
// uses the GPU.
#pragma once

#include "base/result.h"

// NVML's own opaque type.
struct nvmlDevice_st;

namespace turnpike::cuda {

using NvmlCode = int;  // nvmlReturn_t; 0 is success
// A list was longer than what was offered, of which there was nothing: it is not empty.
inline constexpr NvmlCode kNvmlInsufficientSize = 7;
// For init: opens all GPUs. With the flag that opens none, an H100's driver (580) gave a handle for no GPU.
inline constexpr unsigned int kNvmlAttach = 0;

// nvmlUtilization_t: per cent of the last part of a second in which a kernel ran.
struct NvmlUtilization {
  unsigned int gpu = 0;
  unsigned int memory = 0;
};

// nvmlGpmMetric_t.
struct NvmlGpmMetric {
  unsigned int id = 0;
  NvmlCode result = 0;
  double value = 0;  // of these metrics, MiB a second
  const char* names[3] = {};
};
inline constexpr unsigned int kNvmlGpmPcieOut = 20;
inline constexpr unsigned int kNvmlGpmPcieIn = 21;
inline constexpr unsigned int kNvmlGpmNvlinkIn = 60;
inline constexpr unsigned int kNvmlGpmNvlinkOut = 61;

// nvmlGpmMetricsGet_t with as many metrics as are asked for: NVML looks at no more of its 300 or so.
struct NvmlGpmMetrics {
  unsigned int version = 1;
  unsigned int count = 4;
  void* before = nullptr;
  void* after = nullptr;
  NvmlGpmMetric metrics[4];
};

// A table of plain function pointers, in whose place a test puts its own.
struct Nvml {
  NvmlCode (*init)(unsigned int flags) = nullptr;
  NvmlCode (*shutdown)() = nullptr;
  // "00000000:41:00.0": domain, bus, device, function.
  NvmlCode (*device_by_bus_id)(const char* bus_id, nvmlDevice_st** device) = nullptr;
  NvmlCode (*current_generation)(nvmlDevice_st* device, unsigned int* generation) = nullptr;
  NvmlCode (*current_width)(nvmlDevice_st* device, unsigned int* lanes) = nullptr;
  NvmlCode (*card_generation)(nvmlDevice_st* device, unsigned int* generation) = nullptr;
  NvmlCode (*max_width)(nvmlDevice_st* device, unsigned int* lanes) = nullptr;
  // Whether NVLink number `link` is up; an error if the GPU has no such link.
  NvmlCode (*nvlink_state)(nvmlDevice_st* device, unsigned int link, int* is_active) = nullptr;
  NvmlCode (*utilization)(nvmlDevice_st* device, NvmlUtilization* use) = nullptr;
  // `count`: how many there is room for, then how many there are.
  NvmlCode (*compute_processes)(nvmlDevice_st* device, unsigned int* count, void* processes) = nullptr;

  // Of GPUs since Hopper, and nullptr in drivers that are older. A sample costs a quarter of a millisecond on an H100;
  // two samples give the mean rates between them.
  NvmlCode (*gpm_sample_alloc)(void** sample) = nullptr;
  NvmlCode (*gpm_sample_free)(void* sample) = nullptr;
  NvmlCode (*gpm_sample_get)(nvmlDevice_st* device, void* sample) = nullptr;
  NvmlCode (*gpm_metrics_get)(NvmlGpmMetrics* metrics) = nullptr;

  bool has_gpm() const {
    return gpm_sample_alloc != nullptr && gpm_sample_free != nullptr && gpm_sample_get != nullptr &&
           gpm_metrics_get != nullptr;
  }
};

// Opens libnvidia-ml.so.1, which comes with the driver. Initialises nothing.
Result<Nvml> load_nvml();

}  // namespace turnpike::cuda
