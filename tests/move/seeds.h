// How many seeds a test runs under: TURNPIKE_MOVE_SEEDS, else a thousand, fewer where a sanitizer makes each one slow.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace turnpike::move {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kSeedsByDefault = 100;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t kSeedsByDefault = 200;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr std::uint64_t kSeedsByDefault = 100;
#else
inline constexpr std::uint64_t kSeedsByDefault = 1000;
#endif
#else
inline constexpr std::uint64_t kSeedsByDefault = 1000;
#endif

inline std::uint64_t seeds() {
  const char* chosen = std::getenv("TURNPIKE_MOVE_SEEDS");
  return chosen == nullptr ? kSeedsByDefault : std::strtoull(chosen, nullptr, 10);
}

}  // namespace turnpike::move
