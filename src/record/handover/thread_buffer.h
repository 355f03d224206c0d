// A ring per thread through which the program's threads hand their records to the collector, without locks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "record/handover/host_memory.h"
#include "record/handover/stream_ids.h"
#include "trace/format.h"

namespace turnpike::record {

// The name of a thread as it travels in a ring: the collector makes a trace::ThreadRecord of it. Never in a file.
inline constexpr auto kThreadNameKind = static_cast<trace::RecordKind>(0xFFFF);
struct ThreadName {
  trace::RecordHeader header;
  std::uint32_t thread;
  char text[16];          // pthread names have at most 15 characters
  std::uintptr_t handle;  // pthread_self()
};

// A download into page-locked memory whose bytes may not have arrived yet.
struct PendingDownload {
  std::uint64_t address;
  std::uint64_t bytes;
  void* stream;
  std::uint32_t correlation;
  std::uint32_t context;
};

// A few of them, in order; the oldest gives way.
class PendingDownloads {
 public:
  bool is_empty() const noexcept { return count_ == 0; }
  void clear() noexcept { count_ = 0; }
  void add(const PendingDownload& download) noexcept {
    if (count_ == downloads_.size()) {
      std::memmove(downloads_.data(), downloads_.data() + 1, (count_ - 1) * sizeof(PendingDownload));
      --count_;
    }
    downloads_[count_++] = download;
  }
  // Whether `test` held for any; those are gone.
  template <typename Test>
  bool drop_if(Test test) noexcept {
    const auto end = downloads_.begin() + count_;
    const auto kept = std::remove_if(downloads_.begin(), end, test);
    count_ = static_cast<std::uint32_t>(kept - downloads_.begin());
    return kept != end;
  }

 private:
  std::uint32_t count_ = 0;
  std::array<PendingDownload, 16> downloads_;
};

// The last copy of a thread, until the thread has waited for it.
struct LastCopy {
  void* stream = nullptr;
  std::uint32_t context = 0;
  std::uint32_t deliveries = 0;  // ThreadHandover::deliveries() before its call
  bool is_under_way = false;
};

// One producer (its thread), one consumer (the collector). Lives in its own pages, which are touched as they are used.
class ThreadBuffer {
 public:
  static constexpr std::size_t kSlotBytes = sizeof(trace::CallRecord);  // the largest record that threads make
  // 192 KiB: at the fastest rate seen (one call each 2 us) 4 ms, and the collector is woken at half of it.
  static constexpr std::uint32_t kSlots = 2048;

  // Producer: the number of the recording that records are for now.
  std::uint32_t recording() const noexcept {
    return static_cast<std::uint32_t>(head_.load(std::memory_order_acquire) >> 32);
  }

  enum class Pushed : std::uint8_t { kYes, kIsFull, kIsLate };
  // Producer. kIsLate: that recording has all its records.
  Pushed try_push(std::uint32_t recording, const void* record, std::size_t size) noexcept {
    std::uint64_t place = head_.load(std::memory_order_relaxed);
    if (place >> 32 != recording) return Pushed::kIsLate;
    const auto head = static_cast<std::uint32_t>(place);
    if (head - tail_.load(std::memory_order_acquire) == kSlots) return Pushed::kIsFull;
    std::memcpy(slots_[head % kSlots].data(), record, size);
    const std::uint64_t next = std::uint64_t{recording} << 32 | (head + 1);
    return head_.compare_exchange_strong(place, next, std::memory_order_release, std::memory_order_relaxed)
               ? Pushed::kYes
               : Pushed::kIsLate;
  }
  // Consumer: from now on records come for the next recording. Those that came before are still to be drained.
  void end_recording() noexcept { head_.fetch_add(std::uint64_t{1} << 32, std::memory_order_acq_rel); }

  // Producer: whether this push made the ring half full, the moment to wake the collector.
  bool has_become_half_full() const noexcept {
    const auto head = static_cast<std::uint32_t>(head_.load(std::memory_order_relaxed));
    return head - tail_.load(std::memory_order_relaxed) == kSlots / 2;
  }

  // Consumer: calls `take(const std::byte* slot)` for each record and frees its slot. A reader of the memory of a
  // process that died finds a record here, or where `take` put it, or in both.
  template <typename Take>
  void drain(Take take) {
    const auto head = static_cast<std::uint32_t>(head_.load(std::memory_order_acquire));
    std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) {
      take(slots_[tail % kSlots].data());
      tail_.store(tail + 1, std::memory_order_release);
    }
  }

  std::uint32_t thread = 0;
  // Producer's own, and forgotten when a recording begins: the call that is or was under way, to tell driver calls that
  // are made inside it.
  std::atomic<std::uint32_t> open_correlation{0};
  // Producer's own: in which recording the beginning of that call was heard.
  std::uint32_t open_recording = 0;
  // Producer's own: whether that call made a node of a CUDA graph.
  bool has_made_graph_node = false;
  // Producer's own: since the ring last had room.
  bool has_waited_in_vain = false;
  // Producer's own: what it will look at when they have arrived, and where it puts what it looks at.
  PendingDownloads pending_downloads;
  // Producer's own.
  LastCopy last_copy;
  std::uint32_t deliveries_before_copy = 0;  // of the call of a copy that is under way
  // Producer's own: what CUPTI calls the streams that it waited for lately.
  StreamIds stream_ids;
  // Producer's own: which host memory of its copies is page-locked.
  HostMemoryMemo host_memory;
  static constexpr std::size_t kWindowBytes = 256 << 10;
  std::array<std::byte, kWindowBytes> window;

 private:
  friend class FreeRings;
  friend class ThreadBuffers;
  enum class Use : std::uint32_t { kFree, kOwned, kLeft };

  std::atomic<Use> use_{Use::kFree};
  ThreadBuffer* next_ = nullptr;
  std::atomic<ThreadBuffer*> next_free_{nullptr};
  // Above the count of records, the number of the recording that they are for. Changed in one step by both sides: a
  // record is in a recording, or it is not, wherever its thread was put aside.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  alignas(64) std::array<std::array<std::byte, kSlotBytes>, kSlots> slots_;
};

// A list of the rings that no thread has. The collector adds rings, and any thread takes the first one. The word with
// the address of the first ring also counts the additions, in the bits that an address leaves free. A thread that is
// held up inside take() finds another count and starts again.
class FreeRings {
 public:
  void add(ThreadBuffer& buffer) noexcept {
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    std::uint64_t added = 0;
    do {
      buffer.next_free_.store(ring_of(first), std::memory_order_relaxed);
      added = word_of(&buffer, (first & kCountMask) + 1);
    } while (!first_.compare_exchange_weak(first, added, std::memory_order_release, std::memory_order_relaxed));
  }
  // nullptr: the list is empty. The memory of a ring is never unmapped, so a stale address can still be read.
  ThreadBuffer* take() noexcept {
    std::uint64_t first = first_.load(std::memory_order_acquire);
    while (ThreadBuffer* const buffer = ring_of(first)) {
      ThreadBuffer* const next = buffer->next_free_.load(std::memory_order_relaxed);
      const std::uint64_t rest = word_of(next, first & kCountMask);
      if (first_.compare_exchange_weak(first, rest, std::memory_order_acq_rel, std::memory_order_acquire))
        return buffer;
    }
    return nullptr;
  }
  void forget() noexcept { first_.store(0, std::memory_order_relaxed); }

 private:
  // Addresses of programs have 48 bits, of which a ring's last 6 are zero.
  static constexpr unsigned kShift = 16;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << (kShift + 6)) - 1;
  static_assert(alignof(ThreadBuffer) == 64);

  static ThreadBuffer* ring_of(std::uint64_t word) noexcept {
    return reinterpret_cast<ThreadBuffer*>((word & ~kCountMask) >> kShift);
  }
  static std::uint64_t word_of(const ThreadBuffer* ring, std::uint64_t count) noexcept {
    return reinterpret_cast<std::uint64_t>(ring) << kShift | (count & kCountMask);
  }

  std::atomic<std::uint64_t> first_{0};
};

// All rings of the process. Threads get theirs on their first record; a ring whose thread has ended is reused when it
// is empty.
class ThreadBuffers {
 public:
  // Makes rings in `memory`, page-aligned and zeroed, counting them, as long as it lasts; then, or without, in pages of
  // their own.
  ThreadBuffers(std::span<std::byte> memory, std::atomic<std::uint32_t>* made) noexcept
      : memory_(memory), made_(made) {}

  // The calling thread's ring, or nullptr when there is no memory for one. `is_new` tells that the thread has just got
  // it.
  ThreadBuffer* mine(bool& is_new) noexcept;

  // The child must not need malloc: another thread may hold its lock at that moment, and is not there to release it.
  static void before_fork() noexcept;
  // In a forked child, which has no threads but this one and whose rings are the parent's: there are none yet.
  void forget() noexcept;

  template <typename Visit>
  void for_each(Visit visit) {
    for (ThreadBuffer* buffer = first_.load(std::memory_order_acquire); buffer != nullptr; buffer = buffer->next_) {
      visit(*buffer);
    }
  }
  // The thread of this ring ends: what it still holds is for the collector.
  static void mark_left(ThreadBuffer& buffer) noexcept {
    buffer.use_.store(ThreadBuffer::Use::kLeft, std::memory_order_release);
  }
  static bool is_owned(const ThreadBuffer& buffer) noexcept {
    return buffer.use_.load(std::memory_order_acquire) == ThreadBuffer::Use::kOwned;
  }
  // Collector: a ring that had been left before it was drained is empty for good and may be taken by another thread.
  static bool is_left(const ThreadBuffer& buffer) noexcept {
    return buffer.use_.load(std::memory_order_acquire) == ThreadBuffer::Use::kLeft;
  }
  void make_free(ThreadBuffer& buffer) noexcept {
    buffer.use_.store(ThreadBuffer::Use::kFree, std::memory_order_relaxed);
    free_.add(buffer);
  }

 private:
  ThreadBuffer* add() noexcept;
  void* memory_for_one() noexcept;

  std::span<std::byte> memory_;
  std::atomic<std::uint32_t>* made_;
  std::atomic<ThreadBuffer*> first_{nullptr};
  FreeRings free_;
};

}  // namespace turnpike::record
