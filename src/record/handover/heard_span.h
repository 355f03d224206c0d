// Which device records belong to a recording that begins or ends while the program is busy: CUPTI's device records are
// on a moment before the calls are heard, and off a moment after.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::record {

// Opened and closed by the recorder, asked by the collector.
class HeardSpan {
 public:
  // For a new recording, of which nothing is heard yet.
  void restart() noexcept {
    first_.store(0, std::memory_order_relaxed);
    changes_.store(0, std::memory_order_relaxed);
  }
  void open() noexcept {
    if (!is_open(changes())) changes_.fetch_add(1, std::memory_order_relaxed);
  }
  void close() noexcept {
    if (is_open(changes())) changes_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint32_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  static bool is_open(std::uint32_t changes) noexcept { return changes % 2 == 1; }

  // A call is heard, and has not reached the device yet. Any thread.
  void note(std::uint32_t correlation) noexcept {
    std::uint32_t first = first_.load(std::memory_order_relaxed);
    while (first == 0 || is_shortly_before(correlation, first)) {
      if (first_.compare_exchange_weak(first, correlation, std::memory_order_relaxed)) return;
    }
  }

  // Whether work was launched before the first call that was heard, or after the last. `newest` is the last call that
  // the collector had, 0 for none, when it had taken all calls after `changes`. Where a further span of the same
  // recording begins is not told: work of the span before may be under way.
  bool is_outside(std::uint32_t correlation, std::uint32_t newest, std::uint32_t changes) const noexcept {
    if (correlation == 0) return false;
    const std::uint32_t now = this->changes();
    return (now <= 2 && is_before_first(correlation, newest)) ||
           (!is_open(now) && now == changes && is_after(correlation, newest));
  }

 private:
  // In launches. Ids have 32 bits: those of a recording of weeks come round again.
  static constexpr std::uint32_t kShortly = 1u << 20;
  static constexpr std::uint32_t kStart = 1u << 24;

  bool is_before_first(std::uint32_t correlation, std::uint32_t newest) const noexcept {
    const std::uint32_t first = first_.load(std::memory_order_relaxed);
    if (first == 0) return true;
    const bool is_start = newest == 0 || newest - first < kStart;
    return is_start && is_shortly_before(correlation, first);
  }
  static bool is_after(std::uint32_t correlation, std::uint32_t newest) noexcept {
    return newest == 0 || static_cast<std::int32_t>(correlation - newest) > 0;
  }
  static bool is_shortly_before(std::uint32_t correlation, std::uint32_t first) noexcept {
    return first - correlation - 1 < kShortly;
  }

  std::atomic<std::uint32_t> first_{0};    // 0: nothing heard yet
  std::atomic<std::uint32_t> changes_{3};  // odd: open; up to 2: the first span
};

}  // namespace turnpike::record
