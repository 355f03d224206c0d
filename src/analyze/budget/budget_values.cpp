// Each kind of value has a sentence that says how to write it.
#include "analyze/budget/budget_values.h"

#include <algorithm>
#include <cmath>

#include "base/quantity.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxMistakes = 20;

// A number >= 0, whole or not.
std::optional<double> number(const toml::node& node) {
  std::optional<double> value;
  if (const auto* whole = node.as_integer()) value = static_cast<double>(whole->get());
  if (const auto* real = node.as_floating_point()) value = real->get();
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    quoted += code < 0x20 ? std::string("\\x") + kDigits[code >> 4] + kDigits[code & 15] : std::string(1, letter);
  }
  return quoted + "\"";
}

std::string listed(const std::vector<std::string>& names, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  }
  return text;
}

std::vector<std::string> direction_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kDirectionCount; ++i) names.emplace_back(name_of(static_cast<Direction>(i)));
  return names;
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (const Bound bound : kBounds) names.emplace_back(name_of(bound));
  return names;
}

std::optional<Direction> direction_named(std::string_view name) {
  const auto names = direction_names();
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Direction>(found - names.begin()));
}

std::string BudgetValues::at(const toml::source_region& place) const {
  return path_ + ":" + std::to_string(place.begin.line) + ":" + std::to_string(place.begin.column) + ": ";
}

void BudgetValues::mistake(const toml::source_region& place, const std::string& what) {
  mistakes_.push_back({place.begin.line, place.begin.column, at(place) + what});
}

std::string BudgetValues::all_mistakes() {
  std::stable_sort(mistakes_.begin(), mistakes_.end(), [](const Mistake& a, const Mistake& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(mistakes_.size(), kMaxMistakes); ++i) {
    text += (text.empty() ? "" : "\n") + mistakes_[i].text;
  }
  if (mistakes_.size() > kMaxMistakes) text += "\nand " + std::to_string(mistakes_.size() - kMaxMistakes) + " more.";
  return text;
}

std::optional<std::string> BudgetValues::text(const toml::node& node, std::string_view key) {
  if (const auto* value = node.as_string(); value != nullptr && !value->get().empty()) return value->get();
  mistake(node.source(), shown(key) + " is a text, like \"train.py:80\".");
  return std::nullopt;
}

std::optional<std::vector<std::string>> BudgetValues::texts(const toml::node& node, std::string_view key) {
  if (node.is_string()) return std::vector<std::string>{node.as_string()->get()};
  std::vector<std::string> values;
  const toml::array* array = node.as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const auto* value = (*array)[i].as_string();
    if (value == nullptr) array = nullptr;
    if (value != nullptr) values.push_back(value->get());
  }
  if (array != nullptr) return values;
  mistake(node.source(), shown(key) + " is a list of texts, like [\"one\", \"other\"].");
  return std::nullopt;
}

std::optional<bool> BudgetValues::truth(const toml::node& node, std::string_view key) {
  if (const auto* value = node.as_boolean()) return value->get();
  mistake(node.source(), shown(key) + " is true or false.");
  return std::nullopt;
}

std::optional<double> BudgetValues::count(const toml::node& node, std::string_view key) {
  const auto value = number(node);
  if (!value) mistake(node.source(), shown(key) + " is a number from 0 on, like 4 or 0.5.");
  return value;
}

std::optional<double> BudgetValues::percent(const toml::node& node, std::string_view key) {
  const auto value = number(node);
  if (value && *value <= 100) return value;
  mistake(node.source(), shown(key) + " is a number of per cent, from 0 to 100.");
  return std::nullopt;
}

std::optional<double> BudgetValues::size(const toml::node& node, std::string_view key) {
  return quantity(node, key, parse_size, true, "12 MB");
}

std::optional<double> BudgetValues::duration(const toml::node& node, std::string_view key) {
  return quantity(node, key, parse_duration, false, "0.2 ms");
}

std::optional<double> BudgetValues::quantity(const toml::node& node, std::string_view key,
                                             Result<double> (*parse)(std::string_view), bool is_plain_number_fine,
                                             const char* example) {
  if (const auto* value = node.as_string()) {
    const auto parsed = parse(value->get());
    if (parsed) return *parsed;
    mistake(node.source(), shown(key) + " = " + shown(value->get()) + " " + parsed.error().message + ".");
    return std::nullopt;
  }
  const auto value = number(node);
  // 0 needs no unit.
  if (value && (is_plain_number_fine || *value == 0)) return value;
  mistake(node.source(), shown(key) + " is written with its unit, like \"" + example + "\".");
  return std::nullopt;
}

std::optional<Direction> BudgetValues::direction(const toml::node& node, std::string_view key) {
  const auto* value = node.as_string();
  const auto direction = value != nullptr ? direction_named(value->get()) : std::nullopt;
  if (!direction) {
    mistake(node.source(), shown(key) + " is one of the directions; known are " + listed(direction_names()) + ".");
  }
  return direction;
}

std::optional<Unit> BudgetValues::unit(const toml::node& node, std::string_view key) {
  const auto* value = node.as_string();
  if (value != nullptr && value->get() == "step") return Unit::kStep;
  if (value != nullptr && value->get() == "run") return Unit::kRun;
  mistake(node.source(), shown(key) + " is \"step\" or \"run\".");
  return std::nullopt;
}

std::optional<std::vector<Bound>> BudgetValues::verdicts(const toml::node& node, std::string_view key) {
  const auto values = texts(node, key);
  if (!values) return std::nullopt;
  std::vector<Bound> bounds;
  for (const std::string& value : *values) {
    if (const auto bound = bound_named(value)) {
      bounds.push_back(*bound);
      continue;
    }
    mistake(node.source(), shown(key) + " lists the verdicts that are fine; " + shown(value) + " is none. Known are " +
                               listed(verdict_names()) + ".");
    return std::nullopt;
  }
  if (!bounds.empty()) return bounds;
  mistake(node.source(), shown(key) + " is empty, so every run would fail. List the verdicts that are fine.");
  return std::nullopt;
}

}  // namespace turnpike::analyze
