// The buffers that CUPTI fills with activity records: a bounded pool between CUPTI's threads and the collector.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fork_mutex.h"
#include "record/handover/wake_flag.h"

namespace turnpike::record {

// Why these sizes: all threads fill one buffer, and CUPTI delivers it when everything in it is done, or when it is
// full. If copies of several threads always overlap, CUPTI delivers only full buffers, so a buffer holds only some 600
// copies. docs/record.md states the total.
inline constexpr std::size_t kActivityBufferBytes = 64 * 1024;
inline constexpr std::size_t kActivityBufferCount = 1024;  // 64 MiB in all; pages are only taken when they are used

class ActivityPool {
 public:
  struct Filled {
    std::uint8_t* data;
    std::size_t valid_bytes;
  };

  // Reserves the address range. False: no memory.
  bool prepare() noexcept;

  // For CUPTI, on any of the program's threads: a zeroed buffer. When all are in use it waits a moment for the
  // collector, once for all threads; then it gives an overflow buffer, whose records will be counted and dropped.
  // nullptr only when memory is out.
  std::uint8_t* request(std::size_t* size_bytes) noexcept;
  // For CUPTI: `data` comes back with records in its first `valid_bytes`. False for an overflow buffer when there are
  // many already: nobody will read it, and it is the caller's to count and to discard.
  bool complete(std::uint8_t* data, std::size_t valid_bytes) noexcept;

  // Collector: the filled buffers, oldest first.
  void take_filled(std::vector<Filled>& filled);
  // Collector: whether the pool had no room when this one was given out.
  bool is_overflow(const std::uint8_t* data) const noexcept { return data < base_ || data >= base_ + kPoolBytes; }
  // Frees a buffer that complete() refused.
  static void discard(std::uint8_t* data) noexcept;
  // Collector: the buffer has been read.
  void recycle(const Filled& buffer) noexcept;
  // Collector: another number when CUPTI has written into the buffers that it holds, or holds other ones.
  std::uint64_t digest_of_held() const noexcept;
  // Whether the collector should hurry.
  bool is_pressed() const noexcept { return free_count_.load(std::memory_order_relaxed) < kActivityBufferCount / 2; }
  bool is_exhausted() const noexcept { return free_count_.load(std::memory_order_relaxed) == 0; }

 private:
  std::uint8_t* take_free() noexcept;
  std::size_t number_of(const std::uint8_t* data) const noexcept {
    return static_cast<std::size_t>(data - base_) / kActivityBufferBytes;
  }

  static constexpr std::size_t kPoolBytes = kActivityBufferBytes * kActivityBufferCount;

  std::uint8_t* base_ = nullptr;
  mutable ForkMutex mutex_;  // a leaf: nothing is called while it is held
  WakeFlag freed_;
  std::array<std::uint8_t*, kActivityBufferCount> free_{};
  std::bitset<kActivityBufferCount> is_held_;  // by CUPTI
  std::atomic<std::size_t> free_count_{0};
  std::vector<Filled> filled_;
  std::atomic<bool> has_waited_in_vain_{false};  // since a buffer was last freed
};

}  // namespace turnpike::record
