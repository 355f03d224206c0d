// A number for each of many indices, in little memory however many there are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/spilled_bytes.h"

namespace turnpike {

// Quick where those that are asked for one after the other lie near each other.
class SpilledNumbers {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kPage = 16384;  // numbers
  static constexpr std::size_t kPagesInMemory = 32;

  // kNone where nothing was set.
  std::uint32_t operator[](std::size_t index) { return slot_of(index).numbers[index % kPage]; }
  void set(std::size_t index, std::uint32_t number) {
    Slot& slot = slot_of(index);
    slot.is_changed = true;
    slot.numbers[index % kPage] = number;
  }

 private:
  struct Slot {
    std::size_t page = std::numeric_limits<std::size_t>::max();
    bool is_changed = false;
    std::vector<std::uint32_t> numbers{};
  };

  Slot& slot_of(std::size_t index) {
    Slot& slot = slots_[index / kPage % kPagesInMemory];
    if (slot.page != index / kPage) change(slot, index / kPage);
    return slot;
  }
  void change(Slot& slot, std::size_t page);

  std::array<Slot, kPagesInMemory> slots_;
  SpilledBytes bytes_{0};                             // what left the memory
  std::vector<std::optional<std::uint64_t>> places_;  // of pages in there
};

}  // namespace turnpike
