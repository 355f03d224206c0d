// A copy as a crossing: its direction, and what it is besides, from the memory of both sides.
#pragma once

#include "guard/crossing.h"

namespace turnpike::guard {

enum class Side : std::uint8_t { kGpu, kHost };

struct Memory {
  Side side = Side::kHost;
  HostMemory host = HostMemory::kPageable;
  int device = -1;
};

// Of a side that the call names as the GPU's. Which one does not matter to copies from or to the host.
inline constexpr Memory kSomeGpu = {Side::kGpu, HostMemory::kNone, -1};

// Of a side that the call names as the host's, while nobody asks for the kind of its memory.
inline constexpr Memory kSomeHost = {Side::kHost, HostMemory::kNone, -1};

enum class Waits : bool { kNever, kForItsEnd };

Crossing make_copy(const char* call, const Memory& to, const Memory& from, std::uint64_t bytes, const void* stream,
                   Waits waits);

}  // namespace turnpike::guard
