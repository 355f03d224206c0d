// Rules, and what was found out about them: what all blocks with the same rules share.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/place_table.h"
#include "guard/rules.h"

namespace turnpike::guard {

class PreparedRules {
 public:
  explicit PreparedRules(Rules given);

  const Rules rules;
  const Kinds asked;      // on which a rule says something else than "allow"
  const Kinds mentioned;  // on which a rule says anything

  // Whether the allow list names the place for this kind. Looks at the patterns once for each place. Throws
  // std::bad_alloc.
  bool allows(const Place& place, Kind kind);

  // Is called for each allowance when a crossing is allowed by it for the first time. To be set before the rules are
  // entered.
  using TellMatched = void (*)(const Allowance&) noexcept;
  void tell_matched_to(TellMatched tell) noexcept { tell_matched_ = tell; }

  // A block of tp.guard with these rules was entered.
  void note_entered() noexcept { is_entered_.store(true, std::memory_order_relaxed); }
  // Of rules that were entered: for the text of each allowance, whether a crossing was allowed by it, or none need be.
  void add_matched(std::map<std::string, bool>& matched) const;

 private:
  Kinds find_allowed(const Place& place) const;
  void note_matched(const Place& place, Kind kind) noexcept;

  static constexpr std::uint32_t kIsKnown = 1u << 31;
  static constexpr unsigned kNotedShift = 16;
  static_assert(kKindCount < kNotedShift);
  PlaceTable<std::atomic<std::uint32_t>> allowed_;  // kinds, from kNotedShift on those that were noted, and kIsKnown
  std::vector<std::atomic<bool>> has_matched_;      // of each allowance
  std::atomic<bool> is_entered_{false};
  TellMatched tell_matched_ = nullptr;
};

// Those of this text: read once, as a block in a loop is entered with the same text. The Error is parse_rules()'s.
// Throws std::bad_alloc.
Result<std::shared_ptr<PreparedRules>> prepare_rules(std::string_view text);

// The allow list's entries by which nothing was allowed, of all rules that were entered; each on a line of its own.
// Throws std::bad_alloc.
std::string unmatched_allowances();

}  // namespace turnpike::guard
