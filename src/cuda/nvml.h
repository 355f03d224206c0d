// The functions of NVML that Turnpike calls, found at run time: what a GPU's link is, and who else uses the GPU.
#pragma once

#include "base/result.h"

// NVML's own opaque type.
struct nvmlDevice_st;

namespace turnpike::cuda {

using NvmlCode = int;  // nvmlReturn_t; 0 is success
// A list was longer than what was offered, of which there was nothing: it is not empty.
inline constexpr NvmlCode kNvmlInsufficientSize = 7;
// For init: opens no GPU before it is asked for.
inline constexpr unsigned int kNvmlNoAttach = 2;

// nvmlUtilization_t: per cent of the last part of a second in which a kernel ran.
struct NvmlUtilization {
  unsigned int gpu = 0;
  unsigned int memory = 0;
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
};

// Opens libnvidia-ml.so.1, which comes with the driver. Initialises nothing.
Result<Nvml> load_nvml();

}  // namespace turnpike::cuda
