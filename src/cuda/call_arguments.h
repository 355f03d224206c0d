// The arguments of calls of the CUDA runtime and driver API, from what CUPTI hands to a callback.
#pragma once

#include <cstdint>

#include "cuda/cupti.h"

namespace turnpike::cuda {

// Which side of a copy is host memory, as far as the call itself says so.
enum class HostSide : std::uint8_t { kUnknown, kSource, kDestination };

// What a call that was compiled with --default-stream per-thread means by a null stream.
inline void* const kPerThreadStream = reinterpret_cast<void*>(std::uintptr_t{2});

// The arguments that matter of one call.
struct CallArguments {
  std::uint64_t bytes = ~std::uint64_t{0};  // all ones: the call has none, or does not tell
  std::uint64_t dst = 0;                    // 0: not a single address
  std::uint64_t src = 0;
  std::uint64_t object = 0;  // the event of event calls
  void* stream = nullptr;
  bool has_stream = false;
  HostSide host_side = HostSide::kUnknown;  // of copies of contiguous memory
};

// Reads the arguments at the exit of a call, when its results are there. Some arguments point to memory of the program:
// the arrays of a batched copy, the description of a 3D copy. They are read only if the call succeeded, because the
// driver has read them then, too. For a function without a row in the table, `arguments` stays as it is: the device's
// record brings its size.
void read_arguments(CallbackDomain domain, std::uint32_t callback_id, const void* parameters, bool has_succeeded,
                    CallArguments& arguments) noexcept;

// Whether the table has a row for the function.
bool knows_arguments(CallbackDomain domain, std::uint32_t callback_id) noexcept;

}  // namespace turnpike::cuda
