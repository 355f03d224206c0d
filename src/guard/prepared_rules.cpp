#include "guard/prepared_rules.h"

#include <map>
#include <mutex>
#include <string>

namespace turnpike::guard {
namespace {

// Programs have some texts; one that makes them, as with a limit that grows, must not fill the memory.
constexpr std::size_t kMaxTexts = 256;

Kinds kinds_of(const Rules& rules, bool allows_too) {
  Kinds kinds;
  Kinds::all().each([&](Kind kind) {
    const auto& rule = rules.of(kind);
    if (rule && (allows_too || rule->level != Level::kAllow)) kinds.add(kind);
    return true;
  });
  return kinds;
}

}  // namespace

PreparedRules::PreparedRules(Rules given)
    : rules(std::move(given)), asked(kinds_of(rules, false)), mentioned(kinds_of(rules, true)) {}

Kinds PreparedRules::find_allowed(const Place& place) const {
  Kinds allowed;
  for (const Allowance& one : rules.allowances) {
    if (place.matches(one.site)) allowed.add(one.kinds);
  }
  return allowed;
}

bool PreparedRules::allows(const Place& place, Kind kind) {
  if (rules.allowances.empty()) return false;
  if (!place.is_kept()) return find_allowed(place).has(kind);
  auto& known = allowed_.at(place);
  std::uint32_t bits = known.load(std::memory_order_relaxed);
  if (bits == 0) {
    bits = find_allowed(place).bits() | kIsKnown;
    known.store(bits, std::memory_order_relaxed);
  }
  return Kinds::of_bits(bits & ~kIsKnown).has(kind);
}

Result<std::shared_ptr<PreparedRules>> prepare_rules(std::string_view text) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::shared_ptr<PreparedRules>, std::less<>>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second;
  auto rules = parse_rules(text);
  if (!rules) return rules.error();
  auto prepared = std::make_shared<PreparedRules>(std::move(*rules));
  if (known.size() >= kMaxTexts) known.clear();  // blocks keep theirs
  known.emplace(text, prepared);
  return prepared;
}

}  // namespace turnpike::guard
