#include "guard/prepared_rules.h"

#include <map>
#include <string>

#include "guard/tables_mutex.h"

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
    : rules(std::move(given)),
      asked(kinds_of(rules, false)),
      mentioned(kinds_of(rules, true)),
      has_matched_(rules.allowances.size()) {}

Kinds PreparedRules::find_allowed(const Place& place) const {
  Kinds allowed;
  for (const Allowance& one : rules.allowances) {
    if (place.matches(one.site)) allowed.add(one.kinds);
  }
  return allowed;
}

void PreparedRules::note_matched(const Place& place, Kind kind) noexcept {
  for (std::size_t i = 0; i < rules.allowances.size(); ++i) {
    const Allowance& one = rules.allowances[i];
    if (!one.kinds.has(kind) || !place.matches(one.site)) continue;
    const bool is_first = !has_matched_[i].exchange(true, std::memory_order_relaxed);
    if (is_first && tell_matched_ != nullptr) tell_matched_(one);
  }
}

bool PreparedRules::allows(const Place& place, Kind kind) {
  if (rules.allowances.empty()) return false;
  if (!place.is_kept()) {
    note_matched(place, kind);
    return find_allowed(place).has(kind);
  }
  auto& known = allowed_.at(place);
  std::uint32_t bits = known.load(std::memory_order_relaxed);
  if (bits == 0) {
    bits = find_allowed(place).bits() | kIsKnown;
    known.store(bits, std::memory_order_relaxed);
  }
  if (!Kinds::of_bits(bits & Kinds::all().bits()).has(kind)) return false;
  const std::uint32_t noted = Kinds(kind).bits() << kNotedShift;
  if ((bits & noted) == 0) {
    note_matched(place, kind);
    known.fetch_or(noted, std::memory_order_relaxed);
  }
  return true;
}

void PreparedRules::add_matched(std::map<std::string, bool>& matched) const {
  if (!is_entered_.load(std::memory_order_relaxed)) return;
  for (std::size_t i = 0; i < rules.allowances.size(); ++i) {
    const Allowance& one = rules.allowances[i];
    if (one.is_optional || has_matched_[i].load(std::memory_order_relaxed)) {
      matched[one.text] = true;
    } else {
      matched.try_emplace(one.text, false);
    }
  }
}

namespace {

// By its text. With tables_mutex().
using Prepared = std::map<std::string, std::shared_ptr<PreparedRules>, std::less<>>;
Prepared& prepared() {
  static auto& all = *new Prepared;  // threads may outlive main
  return all;
}

}  // namespace

Result<std::shared_ptr<PreparedRules>> prepare_rules(std::string_view text) {
  const std::lock_guard lock(tables_mutex());
  Prepared& known = prepared();
  if (const auto found = known.find(text); found != known.end()) return found->second;
  auto rules = parse_rules(text);
  if (!rules) return rules.error();
  auto fresh = std::make_shared<PreparedRules>(std::move(*rules));
  if (known.size() >= kMaxTexts) known.clear();  // blocks keep theirs
  known.emplace(text, fresh);
  return fresh;
}

std::string unmatched_allowances() {
  const std::lock_guard lock(tables_mutex());
  Prepared& known = prepared();
  std::map<std::string, bool> matched;
  for (const auto& [text, rules] : known) rules->add_matched(matched);
  std::string lines;
  for (const auto& [text, is_matched] : matched) {
    if (!is_matched) lines += text + '\n';
  }
  return lines;
}

}  // namespace turnpike::guard
