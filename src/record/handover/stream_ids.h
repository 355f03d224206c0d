// The ids of a thread's streams, so that CUPTI is asked once for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace turnpike::record {

// A handle may come back for another stream once its own is gone. So what is known holds for one age of the process's
// streams; making a stream begins another.
class StreamIds {
 public:
  struct Stream {
    void* handle;
    std::uint32_t context_id;
    bool is_per_thread;  // a null handle is the thread's own default stream

    bool operator==(const Stream&) const = default;
  };

  void clear() noexcept { count_ = 0; }

  // nullptr: not known in this age.
  const std::uint32_t* find(const Stream& stream, std::uint32_t age) noexcept {
    if (age != age_) {
      clear();
      age_ = age;
    }
    const std::uint32_t known = std::min<std::uint32_t>(count_, kCapacity);
    for (std::uint32_t i = 0; i < known; ++i) {
      if (streams_[i] == stream) return &ids_[i];
    }
    return nullptr;
  }
  // After find() of the same age. The oldest gives way.
  void add(const Stream& stream, std::uint32_t id) noexcept {
    const std::uint32_t at = count_++ % kCapacity;
    streams_[at] = stream;
    ids_[at] = id;
    if (count_ == 2 * kCapacity) count_ = kCapacity;
  }

 private:
  static constexpr std::uint32_t kCapacity = 8;

  std::uint32_t age_ = 0;
  std::uint32_t count_ = 0;
  std::array<Stream, kCapacity> streams_;
  std::array<std::uint32_t, kCapacity> ids_;
};

}  // namespace turnpike::record
