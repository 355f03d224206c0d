// One entered block: its rules, and what has happened in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "guard/event.h"
#include "guard/rules.h"

namespace turnpike::guard {

struct LogRow {
  Event first;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Any thread: those of autograd work in the block of the thread that waits for them.
class Scope {
 public:
  explicit Scope(Rules rules) : rules_(std::move(rules)) {}

  const Rules& rules() const noexcept { return rules_; }

  // Counts one more, and says whether the rule's limit still permits it.
  bool is_within(const Rule& rule, Kind kind, std::uint64_t bytes);
  // Whether the place has had its warm-up for this kind, which rules().skip counts.
  bool is_warm(const Place& place, Kind kind);

  // Counts one more of what was logged before at this place for this kind; false: it was not yet.
  bool log_again(const Place& place, Kind kind, std::uint64_t bytes);
  // True the first time at this place for this kind.
  bool log(const Event& event);
  // What could not be raised where it happened.
  void defer(const Event& event);
  bool has_deferred() const;
  // Gives the first of these, once. Returns false if there are none.
  bool take_deferred(Event& event);

  // {"logged": [...], "deferred": [...]}; empty when there is neither
  std::string json() const;
  std::vector<LogRow> logged() const;

 private:
  bool is_uneventful() const;

  static constexpr std::size_t kMaxDeferred = 16;
  static constexpr std::size_t kMaxRows = 4096;
  struct Used {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  const Rules rules_;
  mutable std::mutex mutex_;
  std::array<Used, kKindCount> used_{};
  std::map<std::pair<const Place*, Kind>, LogRow> logged_;
  std::map<std::pair<const Place*, Kind>, std::uint64_t> seen_;
  std::vector<Event> deferred_;
};

}  // namespace turnpike::guard
