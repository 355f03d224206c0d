// The clock of the simulated devices and of the fake CUPTI: CLOCK_REALTIME, as CUPTI's.
#pragma once

#include <cstdint>
#include <ctime>

namespace turnpike::fake {

inline std::uint64_t read_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}
inline std::uint64_t clock_realtime_ns() {
  return read_ns(CLOCK_REALTIME);
}

}  // namespace turnpike::fake
