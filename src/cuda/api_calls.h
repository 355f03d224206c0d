// What the calls of the CUDA runtime and driver API are for.
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

}  // namespace turnpike::cuda
