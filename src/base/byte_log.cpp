// Reserves the memory of a log and appends to it.
#include "base/byte_log.h"

#include <sys/mman.h>

#include <cstring>

namespace turnpike {
namespace {

std::span<std::byte> reserve_memory(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), bytes};
}

}  // namespace

ByteLog::ByteLog(std::span<std::byte> memory, std::size_t memory_bytes) noexcept {
  if (memory.empty()) memory = own_ = reserve_memory(memory_bytes);
  if (memory.size() <= kHeadBytes) return;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "another process reads it");
  size_ = reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data());
  data_ = memory.data() + kHeadBytes;
  capacity_ = memory.size() - kHeadBytes;
}

ByteLog::~ByteLog() {
  if (!own_.empty()) munmap(own_.data(), own_.size());
}

bool ByteLog::append(const void* bytes, std::size_t count) noexcept {
  std::byte* to = reserve(count);
  if (to == nullptr) return false;
  if (count != 0) std::memcpy(to, bytes, count);
  publish(count);
  return true;
}

}  // namespace turnpike
