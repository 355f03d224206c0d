// Counts what crosses.
#pragma once

#include <atomic>
#include <cstdint>

#include "move/move.h"

namespace turnpike::move {

// Safe from any thread.
class TrafficTally {
 public:
  // The rate of smaller transfers is that of their start.
  static constexpr std::size_t kTimedBytes = std::size_t{16} << 20;

  void add(std::size_t bytes, std::size_t staged_bytes, std::size_t packed_pieces) {
    transfers_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    staged_bytes_.fetch_add(staged_bytes, std::memory_order_relaxed);
    packed_pieces_.fetch_add(packed_pieces, std::memory_order_relaxed);
  }
  void add_time(std::size_t bytes, std::int64_t took_ns) {
    if (bytes < kTimedBytes || took_ns <= 0) return;
    timed_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    timed_ns_.fetch_add(static_cast<std::uint64_t>(took_ns), std::memory_order_relaxed);
  }
  Traffic read() const { return {transfers_, bytes_, staged_bytes_, packed_pieces_, timed_bytes_, timed_ns_}; }

 private:
  std::atomic<std::uint64_t> transfers_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> staged_bytes_{0};
  std::atomic<std::uint64_t> packed_pieces_{0};
  std::atomic<std::uint64_t> timed_bytes_{0};
  std::atomic<std::uint64_t> timed_ns_{0};
};

struct Tally {
  TrafficTally h2d;
  TrafficTally d2h;
  TrafficTally p2p;
};

}  // namespace turnpike::move
