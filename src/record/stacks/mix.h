// One step of a hash over words: what stacks, frames and strings are found by inside this process.
#pragma once

#include <cstdint>

namespace turnpike::record {

inline constexpr std::uint64_t kHashSeed = 0x9E3779B97F4A7C15u;

// Folds a 128-bit product, as wyhash does: one multiplication a word, and every bit of both inputs reaches the result.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word) * 0xD6E8FEB86659FD93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ (hash << 1 | hash >> 63);
}

}  // namespace turnpike::record
