// XXH3 over what the kernel reads for us, seeded with the size.
#include "record/observe/content_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "record/stacks/own_memory.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kEndBytes = 512;
constexpr std::size_t kPlaceBytes = 128;
constexpr std::size_t kMaxPlaces = 12;
// Each place is a page for the kernel to find: one for so many bytes, so that small copies stay cheap.
constexpr std::uint64_t kBytesAPlace = 8192;

constexpr std::size_t kMaxSampleBytes =
    std::max<std::size_t>(kWhollyHashedBytes, 2 * kEndBytes + kMaxPlaces * kPlaceBytes);

}  // namespace

std::optional<ContentHash> hash_sample(std::uintptr_t address, std::uint64_t bytes) noexcept {
  std::array<iovec, kMaxPlaces + 2> places;
  std::size_t place_count = 0;
  std::size_t sample_bytes = 0;
  const auto add = [&](std::uint64_t offset, std::size_t size) {
    places[place_count++] = {reinterpret_cast<void*>(address + offset), size};
    sample_bytes += size;
  };
  if (bytes <= kWhollyHashedBytes) {
    add(0, bytes);
  } else {
    const std::uint64_t inner = std::clamp<std::uint64_t>(bytes / kBytesAPlace, 1, kMaxPlaces);
    const std::uint64_t pitch = (bytes - 2 * kEndBytes) / inner;
    add(0, kEndBytes);
    for (std::uint64_t i = 0; i < inner; ++i) add(kEndBytes + i * pitch + (pitch - kPlaceBytes) / 2, kPlaceBytes);
    add(bytes - kEndBytes, kEndBytes);
  }
  std::array<std::byte, kMaxSampleBytes> sample;
  if (!gather_own_memory(places.data(), place_count, sample.data(), sample_bytes)) return std::nullopt;
  return ContentHash{XXH3_64bits_withSeed(sample.data(), sample_bytes, bytes), sample_bytes};
}

std::optional<ContentHash> hash_all(std::uintptr_t address, std::uint64_t bytes, std::span<std::byte> window) noexcept {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, bytes);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::size_t size = std::min<std::uint64_t>(window.size(), bytes - done);
    if (!read_own_memory(address + done, window.data(), size)) return std::nullopt;
    XXH3_64bits_update(&state, window.data(), size);
    done += size;
  }
  return ContentHash{XXH3_64bits_digest(&state), bytes};
}

}  // namespace turnpike::record
