// Bytes that are appended and stay where they are, in memory that is reserved at once and taken page by page.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace turnpike {

// One thread appends at a time. Another process that maps the memory sees every whole append, and no part of one.
class ByteLog {
 public:
  // The memory starts with the number of bytes in the log.
  static constexpr std::size_t kHeadBytes = 64;

  // Over `memory`, page-aligned and zeroed or a log already, which outlives this object. Empty `memory`: over
  // `memory_bytes` of its own; if there are none, nothing fits.
  ByteLog(std::span<std::byte> memory, std::size_t memory_bytes) noexcept;
  ~ByteLog();
  ByteLog(const ByteLog&) = delete;
  ByteLog& operator=(const ByteLog&) = delete;

  // Where the next bytes belong, for publish(); nullptr: there is no room for `count`.
  std::byte* reserve(std::size_t count) noexcept { return count <= capacity_ - size() ? data_ + size() : nullptr; }
  void publish(std::size_t count) noexcept { size_->store(size() + count, std::memory_order_release); }
  // False: there is no room.
  bool append(const void* bytes, std::size_t count) noexcept;
  void clear() noexcept { size_->store(0, std::memory_order_release); }

  std::size_t size() const noexcept { return size_->load(std::memory_order_acquire); }
  std::byte* data() noexcept { return data_; }
  std::span<const std::byte> bytes() const noexcept { return {data_, std::min(size(), capacity_)}; }
  // What was appended since the log had this size.
  std::span<const std::byte> bytes_from(std::size_t size_then) const noexcept {
    return bytes().subspan(std::min(size_then, bytes().size()));
  }

 private:
  std::atomic<std::uint64_t> no_size_{0};
  std::atomic<std::uint64_t>* size_ = &no_size_;
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::span<std::byte> own_;
};

}  // namespace turnpike
