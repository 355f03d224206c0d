// The hash of what stands in memory: of all of it, or of places spread over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace turnpike::record {

struct ContentHash {
  std::uint64_t hash;
  std::uint64_t hashed_bytes;
};

// Up to this size every byte is hashed in any case.
inline constexpr std::uint64_t kWhollyHashedBytes = 4096;

// Of `bytes` > 0 bytes from `address`: all up to kWhollyHashedBytes, else both ends and up to 12 places between them,
// more for larger memory so that a hash costs less than its copy: 0.5 to 2.3 us. Which places follows from `bytes`
// alone. nullopt: the memory could not be read.
std::optional<ContentHash> hash_sample(std::uintptr_t address, std::uint64_t bytes) noexcept;

// Of every byte, read in pieces of the size of `window`: some 0.2 ms a MiB.
std::optional<ContentHash> hash_all(std::uintptr_t address, std::uint64_t bytes, std::span<std::byte> window) noexcept;

}  // namespace turnpike::record
