// A fast hash that tells whether bytes have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace turnpike::simulated {

inline std::uint64_t hash_of(const std::byte* bytes, std::size_t size_bytes) {
  std::uint64_t hash = size_bytes * 0x9E3779B97F4A7C15u;
  std::uint64_t word = 0;
  for (; size_bytes >= sizeof word; bytes += sizeof word, size_bytes -= sizeof word) {
    std::memcpy(&word, bytes, sizeof word);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  word = 0;
  std::memcpy(&word, bytes, size_bytes);
  return (hash ^ word) * 0xFF51AFD7ED558CCDu;
}

}  // namespace turnpike::simulated
