// The way from the program's threads to the collector: rings, the wake-up, and what happens when a ring is full.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "record/handover/loss_counters.h"
#include "record/handover/thread_buffer.h"
#include "record/handover/wake_flag.h"

namespace turnpike::record {

class ThreadHandover {
 public:
  // `memory` and `made` are of ThreadBuffers.
  explicit ThreadHandover(LossCounters& losses, std::span<std::byte> memory = {},
                          std::atomic<std::uint32_t>* made = nullptr)
      : losses_(losses), buffers_(memory, made) {}

  // The calling thread's ring; announces the thread by its name when it is new. nullptr: no memory (counted).
  ThreadBuffer* mine() noexcept;
  // Collector: CUPTI delivered records of the device. The count of such deliveries begins with 1.
  void note_delivery() noexcept { deliveries_.fetch_add(1, std::memory_order_relaxed); }
  std::uint32_t deliveries() const noexcept { return deliveries_.load(std::memory_order_relaxed); }
  // A copy is done that was called after that many deliveries.
  void note_done_copy(std::uint32_t deliveries) noexcept { done_copy_.store(deliveries, std::memory_order_relaxed); }
  // Whether a copy is done and nothing was delivered since its call.
  bool has_untold_copy() const noexcept { return done_copy_.load(std::memory_order_relaxed) == deliveries(); }

  // Hands a record over, to that recording or not at all. When the ring is full it wakes the collector and
  // waits a moment; then the record is lost and counted.
  void push(ThreadBuffer& buffer, std::uint32_t recording, const void* record, std::size_t size) noexcept;
  void push(ThreadBuffer& buffer, const void* record, std::size_t size) noexcept {
    push(buffer, buffer.recording(), record, size);
  }
  // Collector: what is handed over from now on is not for this recording.
  void end_recording() noexcept {
    buffers_.for_each([](ThreadBuffer& buffer) { buffer.end_recording(); });
  }

  // While nothing is heard: CUPTI may begin to count the calls anew.
  void forget_correlations() noexcept {
    buffers_.for_each([](ThreadBuffer& buffer) { buffer.open_correlation.store(0, std::memory_order_relaxed); });
  }

  void before_fork() noexcept { ThreadBuffers::before_fork(); }
  // In a forked child.
  void forget_rings() noexcept { buffers_.forget(); }

  // Collector: sleeps until it is woken or the time is over. Whether it was woken.
  bool wait(std::int64_t timeout_ns);
  // Any thread, also in a signal handler: the collector should look now.
  void wake() noexcept;
  // Collector: hands each record of each thread to `take`, and calls `after_ring` after those of each thread.
  template <typename Take, typename AfterRing>
  void drain(Take take, AfterRing after_ring) {
    buffers_.for_each([&](ThreadBuffer& buffer) {
      const bool was_left = ThreadBuffers::is_left(buffer);
      buffer.drain(take);
      after_ring();
      if (was_left) buffers_.make_free(buffer);
    });
  }
  template <typename Take>
  void drain(Take take) {
    drain(take, [] {});
  }

 private:
  LossCounters& losses_;
  ThreadBuffers buffers_;
  std::atomic<std::uint32_t> deliveries_{1};
  std::atomic<std::uint32_t> done_copy_{0};
  WakeFlag woken_;
};

}  // namespace turnpike::record
