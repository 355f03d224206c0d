// What is kept for each place: found without a lock, by the place's number. Places that are not kept share one number:
// of them it is found by the line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "guard/place.h"

namespace turnpike::guard {

// A T for each place, zero at first. Any thread. Takes memory for 256 places at a time, where it is needed. Of places
// that are not kept, the first kMaxLines lines have one each, and all others share one.
template <typename T>
class PlaceTable {
 public:
  PlaceTable() = default;
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;
  ~PlaceTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
    for (auto& lines : lines_) {
      for (Line* line = lines.load(std::memory_order_relaxed); line != nullptr;) delete std::exchange(line, line->next);
    }
  }

  // nullptr: at() was called for none of its neighbours.
  T* find(const Place& place) const noexcept {
    if (!place.is_kept()) return find_line(place);
    Chunk* chunk = chunks_[place.number / kInChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[place.number % kInChunk];
  }

  // Throws std::bad_alloc.
  T& at(const Place& place) {
    if (T* found = find(place)) return *found;
    if (!place.is_kept()) return add_line(place);
    auto fresh = std::make_unique<Chunk>();
    Chunk* chunk = nullptr;
    auto& entry = chunks_[place.number / kInChunk];
    if (entry.compare_exchange_strong(chunk, fresh.get(), std::memory_order_acq_rel)) chunk = fresh.release();
    return (*chunk)[place.number % kInChunk];
  }

 private:
  static constexpr std::size_t kInChunk = 256;
  using Chunk = std::array<T, kInChunk>;
  static_assert(kMaxPlaces % kInChunk == 0);

  struct Line {
    explicit Line(const Place& place) : line(place.line), file(place.file), function(place.function) {}
    const std::uint32_t line;
    const std::string file, function;
    T value{};
    Line* next = nullptr;

    bool is_of(const Place& place) const noexcept {
      return line == place.line && file == place.file && function == place.function;
    }
  };
  using Lines = std::atomic<Line*>;  // the latest one first; they stay for good
  static constexpr std::size_t kMaxLines = 1 << 13;
  static constexpr std::size_t kListCount = 64;

  static constexpr std::size_t index_of(const Place& place) noexcept { return place.line % kListCount; }
  static T* find_among(Line* line, const Line* end, const Place& place) noexcept {
    while (line != end && !line->is_of(place)) line = line->next;
    return line == end ? nullptr : &line->value;
  }

  [[gnu::noinline, gnu::cold]] T* find_line(const Place& place) const noexcept {
    if (T* found = find_among(lines_[index_of(place)].load(std::memory_order_acquire), nullptr, place)) return found;
    return line_count_.load(std::memory_order_relaxed) < kMaxLines ? nullptr : &others_;
  }

  [[gnu::noinline, gnu::cold]] T& add_line(const Place& place) {
    Lines& lines = lines_[index_of(place)];
    auto fresh = std::make_unique<Line>(place);
    const Line* searched = nullptr;  // from here on
    Line* first = lines.load(std::memory_order_acquire);
    do {
      if (T* found = find_among(first, searched, place)) return *found;
      searched = fresh->next = first;
    } while (!lines.compare_exchange_weak(first, fresh.get(), std::memory_order_acq_rel, std::memory_order_acquire));
    line_count_.fetch_add(1, std::memory_order_relaxed);
    return fresh.release()->value;
  }

  std::array<std::atomic<Chunk*>, kMaxPlaces / kInChunk> chunks_{};
  std::array<Lines, kListCount> lines_{};
  std::atomic<std::size_t> line_count_{0};
  mutable T others_{};
};

}  // namespace turnpike::guard
