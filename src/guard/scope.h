// One entered block: its rules, and what has happened in it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "guard/event.h"
#include "guard/log_table.h"
#include "guard/prepared_rules.h"

namespace turnpike::guard {

// Whether any block has something that could not be raised where it happened.
bool is_anything_deferred() noexcept;

// Any thread: those of autograd work in the block of the thread that waits for them.
class Scope {
 public:
  // Throws std::bad_alloc.
  Scope(std::shared_ptr<PreparedRules> prepared, LogTable& log);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const Rules& rules() const noexcept { return prepared_->rules; }
  PreparedRules& prepared() const noexcept { return *prepared_; }
  LogTable& log_table() const noexcept { return log_; }

  // Counts one more, and says whether the rule's limit still permits it.
  bool is_within(const Rule& rule, Kind kind, std::uint64_t bytes) noexcept;
  // Whether a limit is so far that what the threads are about to do cannot reach it. Never of bytes.
  bool is_far_from(const Rule& rule, Kind kind) const noexcept;
  // Whether the place has had its warm-up for this kind, which rules().skip counts. Throws std::bad_alloc.
  bool is_warm(const Place& place, Kind kind);

  // True the first time at this place for this kind.
  bool log(Event event);
  // What could not be raised where it happened.
  void defer(const Event& event);
  bool has_deferred() const noexcept { return deferred_count_.load(std::memory_order_acquire) != 0; }
  // Gives the first of these, once. Returns false if there are none.
  bool take_deferred(Event& event);

  // Neither was anything logged here for the first time, nor is anything deferred.
  bool is_uneventful() const noexcept { return !has_deferred() && !has_new_.load(std::memory_order_acquire); }
  // {"logged": [...], "deferred": [...]}: the rows that are new since the block was entered, with what they have
  // counted by now; empty when there is neither
  std::string json() const;

 private:
  static constexpr std::size_t kMaxDeferred = 16;
  struct Used {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  using Seen = PlaceTable<std::array<std::atomic<std::uint64_t>, kKindCount>>;

  const std::shared_ptr<PreparedRules> prepared_;
  LogTable& log_;
  std::array<Used, kKindCount> used_{};
  const std::unique_ptr<Seen> seen_;  // nullptr: there is no warm-up
  std::atomic<bool> has_new_{false};
  std::atomic<std::size_t> deferred_count_{0};
  // With tables_mutex().
  std::vector<const LogRow*> new_rows_;
  std::vector<Event> deferred_;
};

}  // namespace turnpike::guard
