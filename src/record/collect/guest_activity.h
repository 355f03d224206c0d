// The activity records of another profiler of this process, the guest: CUPTI has one pair of functions for buffers, so
// the recorder's work for the guest, too. Records belong to whoever traces when CUPTI delivers them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/fork_mutex.h"
#include "cuda/cupti.h"

namespace turnpike::record {

class GuestActivity {
 public:
  // The guest's own functions, from now on asked for buffers.
  void begin(cuda::BufferRequested requested, cuda::BufferCompleted completed) noexcept;
  void end() noexcept;
  bool is_tracing() const noexcept { return is_tracing_.load(std::memory_order_acquire); }

  // Which kinds of records the guest has switched on. Under the lock of whoever switches kinds.
  void note_kind(std::uint32_t kind, bool is_on);
  bool has_kinds() const noexcept { return !kinds_.empty(); }
  // Whether CUPTI has a buffer of the guest.
  bool has_buffers() const noexcept;

  // For CUPTI. False: the guest does not trace.
  bool request(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept;
  // CUPTI has delivered a buffer. False: it is not the guest's, but the recorder's.
  bool takes_back(std::uint8_t* buffer) noexcept;
  void give(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
            std::size_t valid_bytes) noexcept;
  // Records that stand in a buffer of the recorder's, which CUPTI kept when the guest began. False: no room.
  bool give_copy(void* context, std::uint32_t stream, const std::uint8_t* records, std::size_t bytes) noexcept;

 private:
  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t bytes = 0;
  };
  Buffer take_spare() noexcept;

  std::atomic<bool> is_tracing_{false};
  std::atomic<cuda::BufferRequested> requested_{nullptr};
  std::atomic<cuda::BufferCompleted> completed_{nullptr};
  std::set<std::uint32_t> kinds_;
  mutable ForkMutex mutex_;          // a leaf: nothing is called while it is held
  std::set<std::uint8_t*> buffers_;  // that CUPTI has, of the guest
  // Asked for early. Kineto asks for its records only when a buffer of its own is out, and CUPTI may put the first ones
  // into one of the recorder's.
  Buffer spare_;
};

}  // namespace turnpike::record
