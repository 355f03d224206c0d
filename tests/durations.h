// Durations in nanoseconds, for tests that write down times.
#pragma once

#include <cstdint>

namespace turnpike {

inline constexpr std::int64_t kUs = 1000;
inline constexpr std::int64_t kMs = 1'000'000;

}  // namespace turnpike
