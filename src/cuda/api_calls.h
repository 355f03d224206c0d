// What the calls of the CUDA runtime and driver API are for, and their arguments, from what CUPTI hands to a callback.
#pragma once

#include <cstdint>
#include <string_view>

#include "cuda/cupti.h"
#include "trace/format.h"

namespace turnpike::cuda {

// What a call is recorded as; kOther: not at all. By name, so that functions of later CUDA versions fall into their
// kind without a change here. `name` as CUPTI has it, with or without its version suffix: "cudaMemcpyAsync",
// "cuMemcpyHtoDAsync_v2".
trace::CallKind recorded_kind(CallbackDomain domain, std::string_view name) noexcept;

// The calls by which a program marks what is to be profiled. They are listened to and recorded nowhere.
enum class ProfilerSwitch : std::uint8_t { kNone, kStart, kStop };
ProfilerSwitch profiler_switch_of(std::string_view name) noexcept;

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
