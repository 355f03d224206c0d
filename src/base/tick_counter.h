// A counter of the processor that is read without a system call, and its rate.
#pragma once

#include <cstdint>

#include "base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace turnpike {

// It runs at a constant rate, on all cores alike.
inline std::uint64_t ticks_now() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "this processor's counter is not known"
#endif
}

// Ticks in nanoseconds, by what both clocks have counted since it was made: the longer ago, the more exact.
class TickRate {
 public:
  TickRate() noexcept : start_ns_(monotonic_ns()), start_ticks_(ticks_now()) {}

  std::uint64_t ns_of(std::uint64_t ticks) const noexcept {
    const auto passed_ns = static_cast<double>(monotonic_ns() - start_ns_);
    const auto passed_ticks = static_cast<double>(ticks_now() - start_ticks_);
    return passed_ticks > 0 ? static_cast<std::uint64_t>(static_cast<double>(ticks) * (passed_ns / passed_ticks)) : 0;
  }

 private:
  std::int64_t start_ns_;
  std::uint64_t start_ticks_;
};

}  // namespace turnpike
