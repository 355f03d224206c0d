// The clocks of the recorder. Host times are CLOCK_REALTIME because CUPTI's are: device and host stand on one axis as
// they are.
#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace turnpike::record {

inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}
inline std::int64_t realtime_ns() noexcept {
  return read_clock(CLOCK_REALTIME);
}
inline std::int64_t monotonic_ns() noexcept {
  return read_clock(CLOCK_MONOTONIC);
}

// The processor's time stamp counter; 0 where there is none.
inline std::uint64_t time_stamp_counter() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

}  // namespace turnpike::record
