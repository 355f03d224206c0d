#include "guard/rules.h"

#include <charconv>

#include "base/quantity.h"

namespace turnpike::guard {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

Result<Rule> parse_rule(Kind kind, std::string_view value) {
  if (value == "allow") return Rule{.level = Level::kAllow};
  if (value == "log") return Rule{.level = Level::kLog};
  if (kind == Kind::kRepeat) return Error{quoted(value) + " is neither allow nor log: repeats are only logged"};
  if (value == "disallow") return Rule{.level = Level::kDisallow};
  if (const auto count = whole_number(value)) return Rule{.level = Level::kLimit, .most_count = *count};
  const auto size = parse_size(value);
  if (!size) {
    return Error{quoted(value) + " is neither allow, log, disallow, a number nor a size: it " + size.error().message};
  }
  if (kind == Kind::kSync) return Error{"a wait has no size: limit sync by a number"};
  return Rule{.level = Level::kLimit, .most_bytes = static_cast<std::uint64_t>(*size)};
}

Allowance parse_allowance(std::string_view value) {
  const auto space = value.find(' ');
  const auto kind = space == std::string_view::npos ? std::nullopt : kind_of(value.substr(0, space));
  if (!kind) return {.kinds = Kinds::all(), .site = std::string(value), .text = std::string(value)};
  return {.kinds = *kind, .site = std::string(trimmed(value.substr(space))), .text = std::string(value)};
}

Result<bool> parse_choice(std::string_view value, std::string_view yes, std::string_view no) {
  if (value == yes) return true;
  if (value == no) return false;
  return Error{quoted(value) + " is neither " + std::string(yes) + " nor " + std::string(no)};
}

Status take(std::string_view key, std::string_view value, Rules& rules) {
  if (const auto kind = kind_of(key)) {
    auto rule = parse_rule(*kind, value);
    if (!rule) return rule.error();
    rules.by_kind[static_cast<std::size_t>(*kind)] = *rule;
    return {};
  }
  if (key == "allow" || key == "may_allow") {
    if (value.empty()) return Error{"allow needs a site: FILE, FILE:LINE or FILE:FUNCTION"};
    rules.allowances.push_back(parse_allowance(value));
    rules.allowances.back().is_optional = key == "may_allow";
    return {};
  }
  if (key == "skip") {
    const auto count = whole_number(value);
    if (!count) return Error{quoted(value) + " is no number"};
    rules.skip = *count;
    return {};
  }
  if (key == "threads") {
    const auto is_all = parse_choice(value, "all", "own");
    if (!is_all) return is_all.error();
    rules.threads = *is_all ? Threads::kAll : Threads::kOnlyOwn;
    return {};
  }
  struct Switch {
    std::string_view key, yes, no;
    bool Rules::* field;
  };
  static constexpr Switch kSwitches[] = {{"capture", "disallow", "allow", &Rules::guards_capture},
                                         {"compile", "disallow", "allow", &Rules::guards_compile},
                                         {"moves", "disallow", "allow", &Rules::guards_moves}};
  for (const Switch& one : kSwitches) {
    if (one.key != key) continue;
    const auto chosen = parse_choice(value, one.yes, one.no);
    if (!chosen) return chosen.error();
    rules.*one.field = *chosen;
    return {};
  }
  return Error{"there is no key " + quoted(key) +
               ". Known are h2d, d2h, d2d, p2p, h2h, sync, pageable, alloc, repeat, allow, capture, compile, moves, "
               "threads, skip"};
}

}  // namespace

Result<Rules> parse_rules(std::string_view text) {
  Rules rules;
  while (!text.empty()) {
    const auto end = text.find_first_of(",\n");
    const std::string_view entry = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) return Error{quoted(entry) + " has no \"=\": write it like d2h=disallow"};
    const std::string_view key = trimmed(entry.substr(0, equals));
    if (auto taken = take(key, trimmed(entry.substr(equals + 1)), rules); !taken) {
      return Error{std::string(key) + ": " + taken.error().message};
    }
  }
  return rules;
}

}  // namespace turnpike::guard
