// Rules, and what was found out about them: what all blocks with the same rules share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

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

 private:
  Kinds find_allowed(const Place& place) const;

  static constexpr std::uint32_t kIsKnown = 1u << 31;
  PlaceTable<std::atomic<std::uint32_t>> allowed_;  // kinds, and kIsKnown
};

// Those of this text: read once, as a block in a loop is entered with the same text. The Error is parse_rules()'s.
// Throws std::bad_alloc.
Result<std::shared_ptr<PreparedRules>> prepare_rules(std::string_view text);

}  // namespace turnpike::guard
