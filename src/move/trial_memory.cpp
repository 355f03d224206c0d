// Allocates, and makes bytes by a linear congruence.
#include "move/trial_memory.h"

#include <algorithm>
#include <cstring>

namespace turnpike::move {

DeviceMemory::DeviceMemory(Device& device, std::size_t size_bytes, const char* what) : device_(device) {
  const InContext in_context(device_);
  status_ = check(device_.driver(), device_.driver().mem_alloc(&address_, size_bytes), what, device_.ordinal());
}

DeviceMemory::~DeviceMemory() {
  const InContext in_context(device_);
  if (address_ != 0) device_.driver().mem_free(address_);
}

void fill_with_known_bytes(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL * (seed + 1);
  while (!bytes.empty()) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::span word = bytes.first(std::min(bytes.size(), sizeof state));
    std::memcpy(word.data(), &state, word.size());
    bytes = bytes.subspan(word.size());
  }
}

std::vector<std::byte> known_bytes(std::size_t size_bytes, std::uint64_t seed) {
  std::vector<std::byte> bytes(size_bytes);
  fill_with_known_bytes(bytes, seed);
  return bytes;
}

}  // namespace turnpike::move
