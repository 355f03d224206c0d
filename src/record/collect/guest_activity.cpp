// Buffers go back to whoever gave them, with the records that are whose.
#include "record/collect/guest_activity.h"

#include <cstring>
#include <utility>

namespace turnpike::record {

void GuestActivity::begin(cuda::BufferRequested requested, cuda::BufferCompleted completed) noexcept {
  requested_.store(requested, std::memory_order_relaxed);
  completed_.store(completed, std::memory_order_relaxed);
  if (!is_tracing()) {
    Buffer first;
    std::size_t max_records = 0;
    requested(&first.data, &first.bytes, &max_records);
    const std::lock_guard lock(mutex_);
    spare_ = first;
  }
  is_tracing_.store(true, std::memory_order_release);
}

void GuestActivity::end() noexcept {
  is_tracing_.store(false, std::memory_order_release);
  if (const Buffer unused = take_spare(); unused.data != nullptr) give(nullptr, 0, unused.data, unused.bytes, 0);
}

void GuestActivity::note_kind(std::uint32_t kind, bool is_on) {
  if (is_on) {
    kinds_.insert(kind);
  } else {
    kinds_.erase(kind);
  }
}

bool GuestActivity::has_buffers() const noexcept {
  const std::lock_guard lock(mutex_);
  return !buffers_.empty();
}

GuestActivity::Buffer GuestActivity::take_spare() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(spare_, {});
}

bool GuestActivity::request(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept {
  if (!is_tracing()) return false;
  *max_records = 0;
  if (const Buffer spare = take_spare(); spare.data != nullptr) {
    *buffer = spare.data;
    *size_bytes = spare.bytes;
  } else {
    requested_.load(std::memory_order_relaxed)(buffer, size_bytes, max_records);
  }
  if (*buffer == nullptr) return true;  // it refuses records
  // The recorder has promised CUPTI zeroes (ATTR_ZEROED_OUT_ACTIVITY_BUFFER).
  std::memset(*buffer, 0, *size_bytes);
  try {
    const std::lock_guard lock(mutex_);
    buffers_.insert(*buffer);
  } catch (...) {
    // Without memory to remember it: CUPTI gets none.
    give(nullptr, 0, *buffer, *size_bytes, 0);
    *buffer = nullptr;
    *size_bytes = 0;
  }
  return true;
}

bool GuestActivity::takes_back(std::uint8_t* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  return buffers_.erase(buffer) != 0;
}

void GuestActivity::give(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                         std::size_t valid_bytes) noexcept {
  completed_.load(std::memory_order_relaxed)(context, stream, buffer, size_bytes, valid_bytes);
}

bool GuestActivity::give_copy(void* context, std::uint32_t stream, const std::uint8_t* records,
                              std::size_t bytes) noexcept {
  Buffer to = take_spare();
  std::size_t max_records = 0;
  if (to.data == nullptr) requested_.load(std::memory_order_relaxed)(&to.data, &to.bytes, &max_records);
  if (to.data == nullptr) return false;
  const bool has_room = bytes <= to.bytes;
  if (has_room) std::memcpy(to.data, records, bytes);
  give(context, stream, to.data, to.bytes, has_room ? bytes : 0);
  return has_room;
}

}  // namespace turnpike::record
