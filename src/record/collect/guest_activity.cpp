// Buffers go back to whoever gave them, whoever traces by then.
#include "record/collect/guest_activity.h"

#include <cstring>

namespace turnpike::record {

void GuestActivity::begin(cuda::BufferRequested requested, cuda::BufferCompleted completed) noexcept {
  requested_.store(requested, std::memory_order_relaxed);
  completed_.store(completed, std::memory_order_relaxed);
  is_tracing_.store(true, std::memory_order_release);
}

void GuestActivity::note_kind(std::uint32_t kind, bool is_on) {
  if (is_on) {
    kinds_.insert(kind);
  } else {
    kinds_.erase(kind);
  }
}

bool GuestActivity::request(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept {
  if (!is_tracing()) return false;
  requested_.load(std::memory_order_relaxed)(buffer, size_bytes, max_records);
  if (*buffer == nullptr) return true;  // it refuses records
  // The recorder has promised CUPTI zeroes (ATTR_ZEROED_OUT_ACTIVITY_BUFFER).
  std::memset(*buffer, 0, *size_bytes);
  try {
    const std::lock_guard lock(mutex_);
    buffers_.insert(*buffer);
  } catch (...) {
    // Without memory to remember it: CUPTI gets none, and the guest keeps one that it never sees again.
    *buffer = nullptr;
    *size_bytes = 0;
  }
  return true;
}

bool GuestActivity::complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                             std::size_t valid_bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (buffers_.erase(buffer) == 0) return false;
  }
  completed_.load(std::memory_order_relaxed)(context, stream, buffer, size_bytes, valid_bytes);
  return true;
}

}  // namespace turnpike::record
