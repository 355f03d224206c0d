// The activity records of another profiler of this process, the guest: CUPTI has one pair of functions for buffers, so
// the recorder's hand over to the guest's while the guest traces.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

#include "cuda/cupti.h"

namespace turnpike::record {

class GuestActivity {
 public:
  // The guest's own functions, from now on asked for buffers.
  void begin(cuda::BufferRequested requested, cuda::BufferCompleted completed) noexcept;
  void end() noexcept { is_tracing_.store(false, std::memory_order_release); }
  bool is_tracing() const noexcept { return is_tracing_.load(std::memory_order_acquire); }

  // Which kinds of records the guest has switched on. Under the lock of whoever switches kinds.
  void note_kind(std::uint32_t kind, bool is_on);
  bool has_kinds() const noexcept { return !kinds_.empty(); }

  // From CUPTI. False: the buffer is not the guest's, but the recorder's.
  bool request(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept;
  bool complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                std::size_t valid_bytes) noexcept;

 private:
  std::atomic<bool> is_tracing_{false};
  std::atomic<cuda::BufferRequested> requested_{nullptr};
  std::atomic<cuda::BufferCompleted> completed_{nullptr};
  std::set<std::uint32_t> kinds_;
  std::mutex mutex_;
  std::set<std::uint8_t*> buffers_;  // that CUPTI has, of the guest
};

}  // namespace turnpike::record
