// CRC-32C (Castagnoli) of a range of bytes: the checksum of every chunk of a trace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike {

// The CRC-32C of `size` bytes, continuing from `seed` (0 to start): crc32c(b, crc32c(a)) == crc32c(ab).
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed = 0) noexcept;

}  // namespace turnpike
