// Walks the tables of the file; what it does not know is a mistake with its line and column.
#include "analyze/budget/budget_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <span>

#include "analyze/budget/quantity.h"
#include "analyze/report.h"
#include "trace/losses.h"

// Errors as values; nothing is written, only read.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxMistakes = 20;

struct Named {
  std::string_view name;
  Direction direction;
};
constexpr Named kDirections[] = {{"h2d", Direction::kHostToDevice},   {"d2h", Direction::kDeviceToHost},
                                 {"d2d", Direction::kDeviceToDevice}, {"p2p", Direction::kPeerToPeer},
                                 {"h2h", Direction::kHostToHost},     {"memset", Direction::kMemset}};

struct Measured {
  std::string_view name;
  Measure measure;
};
// Of a direction or of a place.
constexpr Measured kMeasures[] = {{"count", Measure::kCount},
                                  {"bytes", Measure::kBytes},
                                  {"blocked", Measure::kBlocked},
                                  {"exposed", Measure::kExposed}};
constexpr const char* kKnownInUnit =
    "Known are count, bytes, blocked, exposed, syncs and duration; h2d_, d2h_, d2d_, p2p_, h2h_ or memset_ before the "
    "first four limits one direction.";
constexpr const char* kKnownDirections = "known are h2d, d2h, d2d, p2p, h2h and memset";
constexpr std::string_view kVerdicts[] = {"gpu", "transfer", "sync", "launch", "input", "mixed"};

class BudgetReader {
 public:
  explicit BudgetReader(const std::string& path) { budget_.path = path; }

  Result<Budget> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string_view name = key.str();
      if (name == "per_step") {
        read_unit(node, name, Unit::kStep);
      } else if (name == "per_run") {
        read_unit(node, name, Unit::kRun);
      } else if (name == "limit") {
        each_table(node, name, [this](const toml::table& table, std::size_t number) { read_limit(table, number); });
      } else if (name == "allow") {
        each_table(node, name, [this](const toml::table& table, std::size_t) { read_allowance(table); });
      } else if (name == "verdict") {
        read_verdict(node);
      } else if (name == "findings") {
        read_findings(node);
      } else if (name == "losses") {
        read_losses(node);
      } else {
        mistake(key.source(), "unknown table or key " + shown(name) +
                                  ". Known are [per_step], [per_run], [[limit]], [[allow]], [verdict], [findings] and "
                                  "[losses].");
      }
    }
    if (mistakes_.empty() && limits_nothing()) {
      return Error{budget_.path +
                   ": this file sets no limit, so nothing could ever fail. `turnpike check --init RUN` "
                   "writes one to start from."};
    }
    if (!mistakes_.empty()) return Error{all_mistakes()};
    return std::move(budget_);
  }

  std::string at(const toml::source_region& place) const {
    return budget_.path + ":" + std::to_string(place.begin.line) + ":" + std::to_string(place.begin.column) + ": ";
  }

 private:
  struct Mistake {
    std::uint32_t line, column;
    std::string text;
  };

  // In the order of the file, which the tables do not keep.
  std::string all_mistakes() {
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

  // On one line, whatever it holds.
  static std::string shown(std::string_view name) {
    std::string text = "\"";
    for (const char letter : name) {
      const auto code = static_cast<unsigned char>(letter);
      constexpr const char* kDigits = "0123456789abcdef";
      text += code < 0x20 ? std::string("\\x") + kDigits[code >> 4] + kDigits[code & 15] : std::string(1, letter);
    }
    return text + "\"";
  }
  static std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

  void mistake(const toml::source_region& place, const std::string& what) {
    mistakes_.push_back({place.begin.line, place.begin.column, at(place) + what});
  }

  bool limits_nothing() const {
    return budget_.limits.empty() && !budget_.bound_by && !budget_.max_exposed_transfer_pct &&
           !budget_.max_gpu_idle_pct && !budget_.forbidden_findings && !budget_.max_saving_pct &&
           budget_.losses_line == 0;
  }

  const toml::table* table_of(const toml::node& node, std::string_view name) {
    if (node.is_table()) return node.as_table();
    mistake(node.source(), shown(name) + " is a table: write [" + std::string(name) + "] and its keys below.");
    return nullptr;
  }

  template <typename Read>
  void each_table(const toml::node& node, std::string_view name, Read read) {
    const toml::array* array = node.as_array();
    std::size_t number = 0;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
      if (const toml::table* table = (*array)[i].as_table()) {
        read(*table, ++number);
      } else {
        array = nullptr;
        break;
      }
    }
    if (array == nullptr) {
      mistake(node.source(), shown(name) + " comes as often as needed: write [[" + std::string(name) +
                                 "]] in double brackets, and its keys below.");
    }
  }

  // nullopt after a mistake.
  std::optional<std::string> text(const toml::node& node, std::string_view key) {
    if (const auto* value = node.as_string(); value != nullptr && !value->get().empty()) return value->get();
    mistake(node.source(), shown(key) + " is a text, like \"train.py:80\".");
    return std::nullopt;
  }

  std::optional<std::vector<std::string>> texts(const toml::node& node, std::string_view key) {
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

  // From 0 on, whole or not.
  std::optional<double> number(const toml::node& node) {
    std::optional<double> value;
    if (const auto* whole = node.as_integer()) value = static_cast<double>(whole->get());
    if (const auto* real = node.as_floating_point()) value = real->get();
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
  }

  std::optional<double> count(const toml::node& node, std::string_view key) {
    const auto value = number(node);
    if (!value) mistake(node.source(), shown(key) + " is a number from 0 on, like 4 or 0.5.");
    return value;
  }

  std::optional<double> percent(const toml::node& node, std::string_view key) {
    const auto value = number(node);
    if (value && *value <= 100) return value;
    mistake(node.source(), shown(key) + " is a number of per cent, from 0 to 100.");
    return std::nullopt;
  }

  std::optional<double> quantity(const toml::node& node, std::string_view key,
                                 Result<double> (*parse)(std::string_view), bool is_plain_number_fine,
                                 const char* example) {
    if (const auto* value = node.as_string()) {
      const auto parsed = parse(value->get());
      if (!parsed)
        mistake(node.source(), shown(key) + " = " + shown(value->get()) + " " + parsed.error().message + ".");
      return parsed ? std::optional(*parsed) : std::nullopt;
    }
    const auto value = number(node);
    // Nothing is nothing in any unit.
    if (value && (is_plain_number_fine || *value == 0)) return value;
    mistake(node.source(), shown(key) + " is written with its unit, like \"" + example + "\".");
    return std::nullopt;
  }

  std::optional<double> amount(const toml::node& node, std::string_view key, Measure measure) {
    switch (measure) {
      case Measure::kCount:
      case Measure::kSyncs:
        return count(node, key);
      case Measure::kBytes:
        return quantity(node, key, parse_size, true, "12 MB");
      case Measure::kBlocked:
      case Measure::kExposed:
      case Measure::kDuration:
        return quantity(node, key, parse_duration, false, "0.2 ms");
    }
    return std::nullopt;
  }

  // What a key of [per_step] limits.
  struct Target {
    Measure measure;
    std::optional<Direction> direction;
  };
  static std::optional<Target> target_of(std::string_view key) {
    if (key == "syncs") return Target{Measure::kSyncs, {}};
    if (key == "duration") return Target{Measure::kDuration, {}};
    std::optional<Direction> direction;
    for (const Named& named : kDirections) {
      if (!key.starts_with(named.name) || key.substr(named.name.size(), 1) != "_") continue;
      direction = named.direction;
      key.remove_prefix(named.name.size() + 1);
      break;
    }
    for (const Measured& measured : kMeasures) {
      if (measured.name == key) return Target{measured.measure, direction};
    }
    return std::nullopt;
  }

  void read_unit(const toml::node& node, std::string_view name, Unit unit) {
    const toml::table* table = table_of(node, name);
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const auto target = target_of(key.str());
      if (!target) {
        mistake(key.source(), "unknown key " + shown(key.str()) + " in [" + std::string(name) + "]. " + kKnownInUnit);
        continue;
      }
      if (const auto most = amount(value, key.str(), target->measure)) {
        budget_.limits.push_back({.name = std::string(name) + "." + std::string(key.str()),
                                  .line = line_of(value),
                                  .unit = unit,
                                  .measure = target->measure,
                                  .direction = target->direction,
                                  .site = "",
                                  .most = *most});
      }
    }
  }

  std::optional<Direction> direction(const toml::node& node) {
    const auto* value = node.as_string();
    for (const Named& named : kDirections) {
      if (value != nullptr && named.name == value->get()) return named.direction;
    }
    mistake(node.source(), std::string("\"direction\" is one of the directions; ") + kKnownDirections + ".");
    return std::nullopt;
  }

  bool is_true(const toml::node& node, std::string_view key) {
    if (const auto* value = node.as_boolean()) return value->get();
    mistake(node.source(), shown(key) + " is true or false.");
    return false;
  }

  std::optional<Unit> unit(const toml::node& node) {
    const auto* value = node.as_string();
    if (value != nullptr && value->get() == "step") return Unit::kStep;
    if (value != nullptr && value->get() == "run") return Unit::kRun;
    mistake(node.source(), "\"per\" is \"step\" or \"run\".");
    return std::nullopt;
  }

  void read_limit(const toml::table& table, std::size_t number) {
    Limit like;
    std::vector<Limit> limits;
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      if (name == "site") {
        like.site = text(value, name).value_or("");
      } else if (name == "direction") {
        like.direction = direction(value);
      } else if (name == "per") {
        like.unit = unit(value).value_or(Unit::kStep);
      } else if (name == "optional") {
        like.is_optional = is_true(value, name);
      } else if (name == "reason") {
        text(value, name);
      } else if (const auto target = target_of(name);
                 target && !target->direction && target->measure != Measure::kDuration) {
        const auto most = amount(value, name, target->measure);
        if (most)
          limits.push_back(
              {.name = std::string(name), .line = line_of(value), .measure = target->measure, .most = *most});
      } else {
        mistake(key.source(),
                "unknown key " + shown(name) +
                    " in [[limit]]. Known are site, direction, per, optional, reason, count, bytes, blocked, "
                    "exposed and syncs.");
      }
    }
    if (!table.contains("site")) mistake(table.source(), "this [[limit]] names no place: add site = \"FILE:LINE\".");
    if (limits.empty())
      mistake(table.source(), "this [[limit]] limits nothing: add count, bytes, blocked, exposed or syncs.");
    for (Limit& limit : limits) {
      if (limit.measure == Measure::kSyncs && like.direction) {
        mistake(table.source(), "\"syncs\" have no direction: give them a [[limit]] of their own.");
      }
      limit.name = "limit " + std::to_string(number) + " (" + like.site + "): " + limit.name;
      limit.unit = like.unit;
      limit.direction = like.direction;
      limit.site = like.site;
      limit.is_optional = like.is_optional;
      budget_.limits.push_back(std::move(limit));
    }
  }

  void read_allowance(const toml::table& table) {
    Allowance allowance{.line = line_of(table)};
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      if (name == "site") {
        allowance.site = text(value, name).value_or("");
      } else if (name == "direction") {
        allowance.direction = direction(value);
      } else if (name == "optional") {
        allowance.is_optional = is_true(value, name);
      } else if (name == "reason") {
        allowance.reason = text(value, name).value_or("");
      } else {
        mistake(key.source(),
                "unknown key " + shown(name) + " in [[allow]]. Known are site, direction, optional and reason.");
      }
    }
    if (!table.contains("site")) mistake(table.source(), "this [[allow]] names no place: add site = \"FILE:LINE\".");
    budget_.allowances.push_back(std::move(allowance));
  }

  template <typename T>
  static void keep(std::optional<Setting<T>>& rule, std::optional<T> value, const toml::node& node) {
    if (value) rule = Setting<T>{std::move(*value), line_of(node)};
  }

  void read_verdict(const toml::node& node) {
    const toml::table* table = table_of(node, "verdict");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      if (name == "bound_by") {
        keep(budget_.bound_by, verdicts(value), value);
      } else if (name == "max_exposed_transfer_pct") {
        keep(budget_.max_exposed_transfer_pct, percent(value, name), value);
      } else if (name == "max_gpu_idle_pct") {
        keep(budget_.max_gpu_idle_pct, percent(value, name), value);
      } else {
        mistake(key.source(), "unknown key " + shown(name) +
                                  " in [verdict]. Known are bound_by, max_exposed_transfer_pct and max_gpu_idle_pct.");
      }
    }
  }

  std::optional<std::vector<std::string>> verdicts(const toml::node& node) {
    auto values = texts(node, "bound_by");
    if (!values) return std::nullopt;
    for (const std::string& value : *values) {
      if (std::find(std::begin(kVerdicts), std::end(kVerdicts), value) != std::end(kVerdicts)) continue;
      mistake(node.source(), "\"bound_by\" lists the verdicts that are fine; " + shown(value) +
                                 " is none. Known are gpu, transfer, sync, launch, input and mixed.");
      return std::nullopt;
    }
    if (!values->empty()) return values;
    mistake(node.source(), "\"bound_by\" is empty, so every run would fail. List the verdicts that are fine.");
    return std::nullopt;
  }

  void read_findings(const toml::node& node) {
    const toml::table* table = table_of(node, "findings");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      if (name == "forbid") {
        keep(budget_.forbidden_findings, texts(value, name), value);
      } else if (name == "max_saving_pct") {
        keep(budget_.max_saving_pct, percent(value, name), value);
      } else if (name == "optional") {
        budget_.are_findings_optional = is_true(value, name);
      } else {
        mistake(key.source(),
                "unknown key " + shown(name) + " in [findings]. Known are forbid, max_saving_pct and optional.");
      }
    }
  }

  void check_loss(const std::string& name, const toml::node& node) {
    std::string known = kUnreadableFile;
    bool is_known = name == known;
    for (const trace::LossInfo& loss : trace::all_losses()) {
      is_known = is_known || loss.name == name;
      known += ", " + std::string(loss.name);
    }
    // What this version has no name for.
    is_known = is_known || (name.starts_with("loss_") && name.find_first_not_of("0123456789", 5) == std::string::npos);
    if (!is_known) mistake(node.source(), "there is no loss " + shown(name) + ". Known are " + known + ".");
  }

  void read_losses(const toml::node& node) {
    const toml::table* table = table_of(node, "losses");
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      if (key.str() != "allow") {
        mistake(key.source(), "unknown key " + shown(key.str()) + " in [losses]. Known is allow.");
        continue;
      }
      budget_.losses_line = line_of(value);
      if (const auto* is_allowed = value.as_boolean()) {
        budget_.are_losses_allowed = is_allowed->get();
      } else if (value.is_array()) {
        budget_.allowed_losses = texts(value, "allow").value_or(std::vector<std::string>());
        for (const std::string& name : budget_.allowed_losses) check_loss(name, value);
      } else {
        mistake(value.source(), "\"allow\" is true, false, or a list of losses like [\"stack_truncated\"].");
      }
    }
  }

  Budget budget_;
  std::vector<Mistake> mistakes_;
};

// The parser nests a table for each dot of a key, and frees them one inside of the other: without a limit a line of
// dots overflows the stack. Texts over several lines, which no budget needs, would hide where keys are. nullopt: it is
// fine.
std::optional<std::string> what_is_too_deep(std::string_view text) {
  constexpr std::size_t kMaxDots = 20;
  if (text.find("\"\"\"") != std::string_view::npos || text.find("'''") != std::string_view::npos) {
    return ": texts over several lines (in three quotes) have no place in a budget.";
  }
  std::size_t line = 1;
  std::size_t dots = 0;
  char quote = 0;
  bool is_comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\n') {
      ++line;
      dots = 0;
      quote = 0;
      is_comment = false;
    } else if (is_comment) {
      continue;
    } else if (quote != 0) {
      if (letter == '\\' && quote == '"') ++i;
      if (letter == quote) quote = 0;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
    } else if (letter == '#') {
      is_comment = true;
    } else if (letter == '.' && ++dots > kMaxDots) {
      return ":" + std::to_string(line) + ": so many dots have no place in a line of a budget.";
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Budget> parse_budget(std::string_view text, const std::string& path) {
  if (text.size() > kMaxBudgetBytes) {
    return Error{path + " is larger than " + std::to_string(kMaxBudgetBytes) + " bytes: that is no budget."};
  }
  if (const auto excess = what_is_too_deep(text)) return Error{path + *excess};
  BudgetReader reader(path);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{reader.at(parsed.error().source()) + "not TOML: " + std::string(parsed.error().description())};
  }
  return reader.read(parsed.table());
}

Result<Budget> read_budget(const std::filesystem::path& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (std::filesystem::is_directory(status)) return Error{path.string() + " is a folder, not a budget."};
  // Opening a pipe would wait for its writer.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Error{path.string() + " is not a regular file. Copy the budget to a file and name that with --budget."};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path.string() + " cannot be read. Name a budget with --budget, or make one with --init."};
  std::string text(kMaxBudgetBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_budget(text, path.string());
}

}  // namespace turnpike::analyze
