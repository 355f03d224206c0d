// XXH3 over what was read, seeded with the size.
#include "record/observe/content_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "record/observe/readable_memory.h"
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

// The places of memory that are hashed, one behind the other.
struct Sample {
  std::array<iovec, kMaxPlaces + 2> places;
  std::size_t place_count = 0;
  std::size_t bytes = 0;

  void add(std::uintptr_t address, std::size_t size) noexcept {
    places[place_count++] = {reinterpret_cast<void*>(address), size};
    bytes += size;
  }
};

Sample sample_of(std::uintptr_t address, std::uint64_t bytes) noexcept {
  Sample sample;
  if (bytes <= kWhollyHashedBytes) {
    sample.add(address, bytes);
    return sample;
  }
  const std::uint64_t inner = std::clamp<std::uint64_t>(bytes / kBytesAPlace, 1, kMaxPlaces);
  const std::uint64_t pitch = (bytes - 2 * kEndBytes) / inner;
  sample.add(address, kEndBytes);
  for (std::uint64_t i = 0; i < inner; ++i) {
    sample.add(address + kEndBytes + i * pitch + (pitch - kPlaceBytes) / 2, kPlaceBytes);
  }
  sample.add(address + bytes - kEndBytes, kEndBytes);
  return sample;
}

// Each place is read at once after the question whether it can be.
bool gather_directly(const Sample& sample, std::byte* to) noexcept {
  for (std::size_t i = 0; i < sample.place_count; ++i) {
    const iovec& place = sample.places[i];
    if (!is_readable(reinterpret_cast<std::uintptr_t>(place.iov_base), place.iov_len)) return false;
    std::memcpy(to, place.iov_base, place.iov_len);
    to += place.iov_len;
  }
  return true;
}

using Bytes = std::array<std::byte, kMaxSampleBytes>;

ContentHash hash_of(const Sample& sample, const Bytes& bytes, std::uint64_t size) noexcept {
  return {XXH3_64bits_withSeed(bytes.data(), sample.bytes, size), sample.bytes};
}

}  // namespace

bool can_hash_in_call() noexcept {
  return answers_whether_readable() || can_read_own_memory();
}

std::optional<ContentHash> hash_sample(std::uintptr_t address, std::uint64_t bytes) noexcept {
  const Sample sample = sample_of(address, bytes);
  Bytes read;
  if (!gather_own_memory(sample.places.data(), sample.place_count, read.data(), sample.bytes)) return std::nullopt;
  return hash_of(sample, read, bytes);
}

std::optional<ContentHash> hash_sample_in_call(std::uintptr_t address, std::uint64_t bytes) noexcept {
  if (!answers_whether_readable()) return hash_sample(address, bytes);
  const Sample sample = sample_of(address, bytes);
  Bytes read;
  if (!gather_directly(sample, read.data())) return std::nullopt;
  return hash_of(sample, read, bytes);
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
