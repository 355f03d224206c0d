// What the driver said of host memory that a thread copied from or to, so that it is asked once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace turnpike::record {

enum class HostMemory : std::uint8_t { kUnknown, kPageable, kPinned, kManaged };

// An answer holds for one age of the process's host memory: every call that makes memory page-locked or managed, or
// takes such memory back, begins another.
class HostMemoryMemo {
 public:
  void clear() noexcept { count_ = 0; }

  // kUnknown: nothing is known of the address in this age.
  HostMemory find(std::uint64_t address, std::uint32_t age) noexcept {
    if (age != age_) {
      clear();
      age_ = age;
    }
    const std::uint32_t known = std::min<std::uint32_t>(count_, kCapacity);
    for (std::uint32_t i = 0; i < known; ++i) {
      if (address - starts_[i] < sizes_[i]) return memories_[i];
    }
    return HostMemory::kUnknown;
  }
  // After find() of the same age. The oldest gives way.
  void add(std::uint64_t start, std::uint64_t bytes, HostMemory memory) noexcept {
    const std::uint32_t at = count_++ % kCapacity;
    starts_[at] = start;
    sizes_[at] = bytes;
    memories_[at] = memory;
    if (count_ == 2 * kCapacity) count_ = kCapacity;
  }

 private:
  static constexpr std::uint32_t kCapacity = 16;

  std::uint32_t age_ = 0;
  std::uint32_t count_ = 0;
  std::array<std::uint64_t, kCapacity> starts_;
  std::array<std::uint64_t, kCapacity> sizes_;
  std::array<HostMemory, kCapacity> memories_;
};

}  // namespace turnpike::record
