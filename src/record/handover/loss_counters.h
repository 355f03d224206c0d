// The recorder's counters of what it lost: one per trace::Loss, added to from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "trace/losses.h"

namespace turnpike::record {

// May lie in memory that another process reads.
class LossCounters {
 public:
  // The recorder's own losses have numbers below this; a reader's start at 100.
  static constexpr std::size_t kSize = 32;

  void add(trace::Loss loss, std::uint64_t count = 1) noexcept {
    counts_[static_cast<std::size_t>(loss)].fetch_add(count, std::memory_order_relaxed);
  }
  // For counters that another part keeps itself.
  void set(trace::Loss loss, std::uint64_t count) noexcept {
    counts_[static_cast<std::size_t>(loss)].store(count, std::memory_order_relaxed);
  }
  std::uint64_t get(trace::Loss loss) const noexcept { return get(static_cast<std::size_t>(loss)); }
  std::uint64_t get(std::size_t number) const noexcept { return counts_[number].load(std::memory_order_relaxed); }
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kSize; ++i) sum += get(i);
    return sum;
  }
  void reset() noexcept {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSize> counts_{};
};

}  // namespace turnpike::record
