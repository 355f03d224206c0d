// What the calls of the CUDA runtime and driver API are for, and their arguments, from what CUPTI hands to a callback.
#pragma once

#include <cstdint>
#include <string_view>

#include "cuda/cupti.h"

namespace turnpike::cuda {

// The same numbers as trace::CallKind, which stands in files.
enum class CallClass : std::uint8_t {
  kOther = 0,  // not recorded
  kCopy = 1,
  kMemset = 2,
  kSynchronize = 3,
  kLaunch = 4,
  kGraphLaunch = 5,
  kEventRecord = 6,
  kStreamWait = 7,
  kDeviceAlloc = 8,
  kDeviceFree = 9,
  kHostAlloc = 10,
  kHostFree = 11,
  kHostRegister = 12,
  kHostUnregister = 13,
  kManagedAlloc = 14,
  kPrefetch = 15,
  // Recorded nowhere, but listened to:
  kProfilerStart = 100,
  kProfilerStop = 101,
};

// By name, so that functions of later CUDA versions fall into their class without a change here.
// `name` as CUPTI has it, with or without its version suffix: "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2".
CallClass classify(CallbackDomain domain, std::string_view name) noexcept;

// Which side of a copy is host memory, as far as the call itself says so.
enum class HostSide : std::uint8_t { kUnknown, kSource, kDestination };

// What a call that was compiled with --default-stream per-thread means by a null stream.
inline void* const kPerThreadStream = reinterpret_cast<void*>(std::uintptr_t{2});

// The arguments that matter of one call. Valid at the exit of the call, when addresses that it returns are there.
struct CallArguments {
  std::uint64_t bytes = ~std::uint64_t{0};  // all ones: the call has none
  std::uint64_t dst = 0;
  std::uint64_t src = 0;
  std::uint64_t object = 0;  // the event of event calls
  void* stream = nullptr;
  bool has_stream = false;
  HostSide host_side = HostSide::kUnknown;  // of copies of contiguous memory
};

// Functions that are not known here leave `arguments` as it is: their sizes come with the device's record.
void read_arguments(CallbackDomain domain, std::uint32_t callback_id, const void* parameters,
                    CallArguments& arguments) noexcept;

}  // namespace turnpike::cuda
