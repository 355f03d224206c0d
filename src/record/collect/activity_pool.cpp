// Gives buffers out and takes them back.
#include "record/collect/activity_pool.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "record/stacks/mix.h"

namespace turnpike::record {
namespace {

// Of a buffer that CUPTI may be writing to: any number will do that differs once it has written.
__attribute__((no_sanitize("thread"))) std::uint64_t digest_of(const std::uint8_t* buffer) noexcept {
  const auto* const words = reinterpret_cast<const volatile std::uint64_t*>(buffer);
  std::uint64_t digest = kHashSeed;
  for (std::size_t i = 0; i < kActivityBufferBytes / sizeof(std::uint64_t); ++i) digest = digest * 31 + words[i];
  return digest;
}

}  // namespace

bool ActivityPool::prepare() noexcept {
  if (base_ != nullptr) return true;
  void* memory = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  try {
    // As many overflow buffers can come on top: complete() never allocates.
    filled_.reserve(2 * kActivityBufferCount);
  } catch (...) {
    munmap(memory, kPoolBytes);
    return false;
  }
  base_ = static_cast<std::uint8_t*>(memory);
  // Given out from the end: the first one asked for is the first in memory, and pages that were used are used again.
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) {
    free_[i] = base_ + (kActivityBufferCount - 1 - i) * kActivityBufferBytes;
  }
  free_count_ = kActivityBufferCount;
  return true;
}

// nullptr: there is none.
std::uint8_t* ActivityPool::take_free() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_count_ == 0) return nullptr;
  std::uint8_t* const buffer = free_[--free_count_];
  is_held_.set(number_of(buffer));
  return buffer;
}

std::uint8_t* ActivityPool::request(std::size_t* size_bytes) noexcept {
  // Long enough for a collector that is behind, short enough that a program never hangs on its recorder.
  constexpr std::int64_t kPatienceNs = 200'000'000;
  // CUPTI may hold a lock around this that the collector needs to free buffers: then no wait helps, and one after the
  // other would add up.
  const std::int64_t until_ns = has_waited_in_vain_ ? 0 : monotonic_ns() + kPatienceNs;
  *size_bytes = kActivityBufferBytes;
  do {
    freed_.clear();
    if (std::uint8_t* buffer = take_free()) return buffer;
  } while (freed_.wait(until_ns - monotonic_ns()));
  has_waited_in_vain_ = true;
  return static_cast<std::uint8_t*>(std::calloc(1, kActivityBufferBytes));
}

bool ActivityPool::complete(std::uint8_t* data, std::size_t valid_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  // The other half of the room is for the pool's own, which must all find a place.
  if (is_overflow(data) && filled_.size() >= kActivityBufferCount) return false;
  if (!is_overflow(data)) is_held_.reset(number_of(data));
  filled_.push_back({data, valid_bytes});
  return true;
}

std::uint64_t ActivityPool::digest_of_held() const noexcept {
  std::bitset<kActivityBufferCount> is_held;
  {
    const std::lock_guard lock(mutex_);
    is_held = is_held_;
  }
  std::uint64_t digest = kHashSeed;
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) {
    if (is_held[i]) digest = mix(mix(digest, i), digest_of(base_ + i * kActivityBufferBytes));
  }
  return digest;
}

void ActivityPool::discard(std::uint8_t* data) noexcept {
  std::free(data);
}

void ActivityPool::take_filled(std::vector<Filled>& filled) {
  filled.clear();
  filled.reserve(2 * kActivityBufferCount);
  const std::lock_guard lock(mutex_);
  filled.assign(filled_.begin(), filled_.end());
  filled_.clear();
}

void ActivityPool::recycle(const Filled& buffer) noexcept {
  if (is_overflow(buffer.data)) {
    std::free(buffer.data);
    return;
  }
  // CUPTI relies on zeroes (ATTR_ZEROED_OUT_ACTIVITY_BUFFER): done here, off the program's threads.
  std::memset(buffer.data, 0, buffer.valid_bytes);
  {
    const std::lock_guard lock(mutex_);
    is_held_.reset(number_of(buffer.data));
    free_[free_count_++] = buffer.data;
    has_waited_in_vain_ = false;
  }
  freed_.set();
}

}  // namespace turnpike::record
