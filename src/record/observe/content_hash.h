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

// The same of memory that a CUDA call uses which has not returned yet, without a copy by the kernel. Nobody may unmap
// or protect that memory before the call returns, so it stays as it is between the question whether it can be read and
// the read. Memory that the GPU can read and the processor cannot, or that is gone although it is page-locked, is
// unknown and no fault.
std::optional<ContentHash> hash_sample_in_call(std::uintptr_t address, std::uint64_t bytes) noexcept;
// Whether hash_sample_in_call() can look at memory at all: a sandbox may forbid both ways.
bool can_hash_in_call() noexcept;

// Of every byte, read in pieces of the size of `window`: some 0.2 ms a MiB.
std::optional<ContentHash> hash_all(std::uintptr_t address, std::uint64_t bytes, std::span<std::byte> window) noexcept;

}  // namespace turnpike::record
