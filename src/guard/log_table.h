// What was logged, and how often: a row for each place and kind.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "guard/event.h"
#include "guard/place_table.h"

namespace turnpike::guard {

struct alignas(64) LogRow {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> bytes{0};
  Event first;

  void add(std::uint64_t more_bytes) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(more_bytes, std::memory_order_relaxed);
  }
  // {"count": 3, "bytes": 12, "first": {...}}
  std::string json() const;
};

// Any thread. Rows stay for good.
class LogTable {
 public:
  // nullptr: nothing of this kind was logged at this place.
  LogRow* find(const Place& place, Kind kind) const noexcept {
    const Rows* rows = rows_.find(place);
    return rows == nullptr ? nullptr : (*rows)[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
  }
  // No further rows are kept: for programs that log at any number of places.
  bool is_full() const noexcept { return count_.load(std::memory_order_relaxed) >= kMaxRows; }

  // The event's row, with one more counted, and whether the row is new.
  struct Added {
    LogRow& row;
    bool is_new;
  };
  Added add(Event event);

  std::vector<const LogRow*> rows() const;

 private:
  static constexpr std::size_t kMaxRows = 4096;
  using Rows = std::array<std::atomic<LogRow*>, kKindCount>;

  PlaceTable<Rows> rows_;
  std::vector<LogRow*> all_;  // with tables_mutex()
  std::atomic<std::size_t> count_{0};
};

// Of all blocks that threads enter. A process has a line logged once, in however many blocks it happens.
LogTable& log_of_blocks();

}  // namespace turnpike::guard
