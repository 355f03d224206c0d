// What the driver said of host memory that a thread copied from or to.
#pragma once

#include <cstdint>

#include "record/handover/recent_answers.h"

namespace turnpike::record {

enum class HostMemory : std::uint8_t { kUnknown, kPageable, kPinned, kManaged };

// An answer holds for one age of the process's host memory: every call that makes memory page-locked or managed, or
// takes such memory back, begins another.
class HostMemoryMemo {
 public:
  void clear() noexcept { recent_.clear(); }

  // kUnknown: nothing is known of the address in this age.
  HostMemory find(std::uint64_t address, std::uint32_t age) noexcept {
    const Range* range = recent_.find(age, [&](const Range& one) { return address - one.start < one.bytes; });
    return range == nullptr ? HostMemory::kUnknown : range->memory;
  }
  // After find() of the same age.
  void add(std::uint64_t start, std::uint64_t bytes, HostMemory memory) noexcept {
    recent_.add({start, bytes, memory});
  }

 private:
  struct Range {
    std::uint64_t start;
    std::uint64_t bytes;
    HostMemory memory;
  };

  RecentAnswers<Range, 16> recent_;
};

}  // namespace turnpike::record
