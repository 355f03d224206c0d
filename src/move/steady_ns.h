// The steady clock in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace turnpike::move {

inline std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace turnpike::move
