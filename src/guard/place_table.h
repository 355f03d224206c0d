// What is kept for each place: found without a lock or a hash, by the place's number.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "guard/place.h"

namespace turnpike::guard {

// A T for each place, zero at first. Any thread. Takes memory for 256 places at a time, where it is needed.
template <typename T>
class PlaceTable {
 public:
  PlaceTable() = default;
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;
  ~PlaceTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // nullptr: at() was called for none of its neighbours.
  T* find(const Place& place) const noexcept {
    Chunk* chunk = chunks_[place.number / kInChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[place.number % kInChunk];
  }

  // Throws std::bad_alloc.
  T& at(const Place& place) {
    if (T* found = find(place)) return *found;
    auto fresh = std::make_unique<Chunk>();
    Chunk* chunk = nullptr;
    auto& entry = chunks_[place.number / kInChunk];
    if (entry.compare_exchange_strong(chunk, fresh.get(), std::memory_order_acq_rel)) chunk = fresh.release();
    return (*chunk)[place.number % kInChunk];
  }

 private:
  static constexpr std::size_t kInChunk = 256;
  using Chunk = std::array<T, kInChunk>;
  std::array<std::atomic<Chunk*>, kMaxPlaces / kInChunk + 1> chunks_{};
};

}  // namespace turnpike::guard
