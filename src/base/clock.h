// The system's clocks, in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace turnpike {

inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}
// Of CUPTI's times, too: device and host stand on one axis as they are.
inline std::int64_t realtime_ns() noexcept {
  return read_clock(CLOCK_REALTIME);
}
inline std::int64_t monotonic_ns() noexcept {
  return read_clock(CLOCK_MONOTONIC);
}

}  // namespace turnpike
