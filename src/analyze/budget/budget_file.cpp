// The tables of a budget file and their keys. A key that they do not name is a mistake, reported with its line and
// column.
#include "analyze/budget/budget_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>

#include "analyze/budget/budget_values.h"
#include "analyze/budget/toml_depth.h"
#include "analyze/report.h"
#include "trace/losses.h"

namespace turnpike::analyze {
namespace {

// A key of a table: its name, and the function that stores its value.
template <typename Target>
struct Key {
  std::string_view name;
  void (*take)(BudgetValues& values, const toml::node& node, std::string_view key, Target& target);
};

// "Known are a, b and c."
template <typename Entries, typename Name>
std::string known(const Entries& entries, Name name_of_entry) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(name_of_entry(entry));
  return (names.size() == 1 ? "Known is " : "Known are ") + listed(names) + ".";
}

template <typename Target>
void take_all(BudgetValues& values, const toml::table& table, const std::string& title,
              std::span<const Key<Target>> keys, Target& target) {
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& one) { return one.name == name; });
    if (found != keys.end()) {
      found->take(values, node, name, target);
    } else {
      values.mistake(key.source(), "unknown key " + shown(name) + " in " + title + ". " +
                                       known(keys, [](const auto& one) { return one.name; }));
    }
  }
}

// `value` is there.
template <typename T>
void assign(std::optional<Setting<T>>& field, std::optional<T>&& value, const toml::node& node) {
  field = Setting<T>{std::move(*value), line_of(node)};
}
template <typename T>
void assign(std::optional<T>& field, std::optional<T>&& value, const toml::node&) {
  field = std::move(value);
}
template <typename T>
void assign(T& field, std::optional<T>&& value, const toml::node&) {
  field = std::move(*value);
}

// Reads the value by a function of BudgetValues, and puts it into a field.
template <auto kField, auto kRead, typename Target>
void into(BudgetValues& values, const toml::node& node, std::string_view key, Target& target) {
  if (auto value = (values.*kRead)(node, key)) assign(target.*kField, std::move(value), node);
}

// What can be limited, in a unit and at a place.
struct Measured {
  std::string_view name;
  Measure measure;
  std::optional<double> (BudgetValues::*read)(const toml::node& node, std::string_view key);
};
constexpr Measured kMeasures[] = {
    {"count", Measure::kCount, &BudgetValues::count},         {"bytes", Measure::kBytes, &BudgetValues::size},
    {"blocked", Measure::kBlocked, &BudgetValues::duration},  {"exposed", Measure::kExposed, &BudgetValues::duration},
    {"syncs", Measure::kSyncs, &BudgetValues::count},         {"pageable", Measure::kPageable, &BudgetValues::count},
    {"duration", Measure::kDuration, &BudgetValues::duration}};
constexpr std::size_t kMeasuresOfADirection = 4;  // these first

const Measured* measure_named(std::string_view name, std::span<const Measured> among) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Measured& one) { return one.name == name; });
  return found == among.end() ? nullptr : &*found;
}

// [per_step] and [per_run]: their keys are names of measures, some with a direction before them.
template <Unit kUnit>
void take_unit(BudgetValues& values, const toml::table& table, const std::string& title, std::size_t, Budget& budget) {
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    const std::size_t prefix = name.find('_');
    const auto direction = prefix == std::string_view::npos ? std::nullopt : direction_named(name.substr(0, prefix));
    const Measured* measured =
        direction ? measure_named(name.substr(prefix + 1), std::span(kMeasures).first(kMeasuresOfADirection))
                  : measure_named(name, kMeasures);
    if (measured == nullptr) {
      std::string sentence = known(kMeasures, [](const Measured& one) { return one.name; });
      std::vector<std::string> prefixes = direction_names();
      for (std::string& one : prefixes) one += "_";
      sentence.back() = ';';
      values.mistake(key.source(), "unknown key " + shown(name) + " in " + title + ". " + sentence + " " +
                                       listed(prefixes, " or ") + " before the first four limits one direction.");
    } else if (const auto most = (values.*measured->read)(node, name)) {
      budget.limits.push_back({.name = title.substr(1, title.size() - 2) + "." + std::string(name),
                               .line = line_of(node),
                               .unit = kUnit,
                               .measure = measured->measure,
                               .direction = direction,
                               .most = *most});
    }
  }
}

// [[limit]]: what its keys say of all that it limits, and these limits.
struct PlaceLimits {
  Limit like;
  std::string reason;  // for those who read the file
  std::vector<Limit> limits{};
};

template <auto kField, auto kRead>
void into_all(BudgetValues& values, const toml::node& node, std::string_view key, PlaceLimits& place) {
  into<kField, kRead>(values, node, key, place.like);
}

void take_limit_of_place(BudgetValues& values, const toml::node& node, std::string_view key, PlaceLimits& place) {
  const Measured& measured = *measure_named(key, kMeasures);
  if (const auto most = (values.*measured.read)(node, key)) {
    place.limits.push_back(
        {.name = std::string(key), .line = line_of(node), .measure = measured.measure, .most = *most});
  }
}

constexpr Key<PlaceLimits> kLimitKeys[] = {
    {"site", into_all<&Limit::site, &BudgetValues::text>},
    {"direction", into_all<&Limit::direction, &BudgetValues::direction>},
    {"per", into_all<&Limit::unit, &BudgetValues::unit>},
    {"optional", into_all<&Limit::is_optional, &BudgetValues::truth>},
    {"reason", into<&PlaceLimits::reason, &BudgetValues::text>},
    {"count", take_limit_of_place},
    {"bytes", take_limit_of_place},
    {"blocked", take_limit_of_place},
    {"exposed", take_limit_of_place},
    {"syncs", take_limit_of_place},
    {"pageable", take_limit_of_place},
};

void check_place(BudgetValues& values, const toml::table& table, const std::string& title) {
  if (!table.contains("site")) {
    values.mistake(table.source(), "this " + title + " names no place: add site = \"FILE:LINE\".");
  }
}

void take_limit(BudgetValues& values, const toml::table& table, const std::string& title, std::size_t number,
                Budget& budget) {
  PlaceLimits place;
  take_all<PlaceLimits>(values, table, title, kLimitKeys, place);
  check_place(values, table, title);
  if (place.limits.empty()) {
    values.mistake(table.source(),
                   "this [[limit]] limits nothing: add count, bytes, blocked, exposed, syncs or pageable.");
  }
  for (const Limit& one : place.limits) {
    if (one.measure == Measure::kSyncs && place.like.direction) {
      values.mistake(table.source(), "\"syncs\" have no direction: give them a [[limit]] of their own.");
    }
    Limit limit = place.like;
    limit.name = "limit " + std::to_string(number) + " (" + place.like.site + "): " + one.name;
    limit.line = one.line;
    limit.measure = one.measure;
    limit.most = one.most;
    budget.limits.push_back(std::move(limit));
  }
}

constexpr Key<Allowance> kAllowKeys[] = {
    {"site", into<&Allowance::site, &BudgetValues::text>},
    {"direction", into<&Allowance::direction, &BudgetValues::direction>},
    {"optional", into<&Allowance::is_optional, &BudgetValues::truth>},
    {"reason", into<&Allowance::reason, &BudgetValues::text>},
};

void take_allowance(BudgetValues& values, const toml::table& table, const std::string& title, std::size_t,
                    Budget& budget) {
  Allowance allowance{.line = line_of(table)};
  take_all<Allowance>(values, table, title, kAllowKeys, allowance);
  check_place(values, table, title);
  budget.allowances.push_back(std::move(allowance));
}

constexpr Key<Budget> kVerdictKeys[] = {
    {"bound_by", into<&Budget::bound_by, &BudgetValues::verdicts>},
    {"max_exposed_transfer_pct", into<&Budget::max_exposed_transfer_pct, &BudgetValues::percent>},
    {"max_gpu_idle_pct", into<&Budget::max_gpu_idle_pct, &BudgetValues::percent>},
};

constexpr Key<Budget> kFindingsKeys[] = {
    {"forbid", into<&Budget::forbidden_findings, &BudgetValues::texts>},
    {"max_saving_pct", into<&Budget::max_saving_pct, &BudgetValues::percent>},
    {"optional", into<&Budget::are_findings_optional, &BudgetValues::truth>},
};

void check_loss(BudgetValues& values, const toml::node& node, const std::string& name) {
  std::string known_losses = kUnreadableFile;
  bool is_known = name == known_losses;
  for (const trace::LossInfo& loss : trace::all_losses()) {
    is_known = is_known || loss.name == name;
    known_losses += ", " + std::string(loss.name);
  }
  // Keys that this version does not know.
  is_known = is_known || (name.starts_with("loss_") && name.find_first_not_of("0123456789", 5) == std::string::npos);
  if (!is_known) values.mistake(node.source(), "there is no loss " + shown(name) + ". Known are " + known_losses + ".");
}

void take_losses(BudgetValues& values, const toml::node& node, std::string_view key, Budget& budget) {
  budget.losses_line = line_of(node);
  if (const auto* is_allowed = node.as_boolean()) {
    budget.are_losses_allowed = is_allowed->get();
  } else if (node.is_array()) {
    budget.allowed_losses = values.texts(node, key).value_or(std::vector<std::string>());
    for (const std::string& name : budget.allowed_losses) check_loss(values, node, name);
  } else {
    values.mistake(node.source(), shown(key) + " is true, false, or a list of losses like [\"stack_truncated\"].");
  }
}

constexpr Key<Budget> kLossesKeys[] = {{"allow", take_losses}};

// Whoever guards reads the value.
void take_guard_rule(BudgetValues& values, const toml::node& node, std::string_view key, Budget& budget) {
  std::string value;
  if (const auto* text = node.as_string()) {
    value = text->get();
  } else if (const auto* number = node.as_integer()) {
    value = std::to_string(number->get());
  } else {
    return values.mistake(node.source(), shown(key) + " is \"allow\", \"log\", \"disallow\", a number or a size.");
  }
  budget.guard_rules += std::string(key) + '=' + value + '\n';
}

constexpr Key<Budget> kGuardKeys[] = {
    {"h2d", take_guard_rule},      {"d2h", take_guard_rule},     {"d2d", take_guard_rule},
    {"p2p", take_guard_rule},      {"h2h", take_guard_rule},     {"sync", take_guard_rule},
    {"pageable", take_guard_rule}, {"alloc", take_guard_rule},   {"capture", take_guard_rule},
    {"compile", take_guard_rule},  {"skip", take_guard_rule},    {"repeat", take_guard_rule},
    {"moves", take_guard_rule},    {"threads", take_guard_rule},
};

// `turnpike fleet` reads and checks the values.
void pass_over(BudgetValues&, const toml::node&, std::string_view, Budget&) {}

constexpr Key<Budget> kFleetKeys[] = {
    {"max_rank_spread_pct", pass_over},
    {"max_missing_ranks", pass_over},
    {"max_unreadable", pass_over},
    {"forbid", pass_over},
};

template <const auto& kKeys>
void take_keys(BudgetValues& values, const toml::table& table, const std::string& title, std::size_t, Budget& budget) {
  take_all<Budget>(values, table, title, kKeys, budget);
}

// A table of the file: [name], or [[name]] as often as needed.
struct Section {
  std::string_view name;
  bool comes_often;
  // `number`: of [[name]], from 1 on.
  void (*take)(BudgetValues& values, const toml::table& table, const std::string& title, std::size_t number,
               Budget& budget);

  std::string title() const {
    const std::string once = "[" + std::string(name) + "]";
    return comes_often ? "[" + once + "]" : once;
  }
};
constexpr Section kSections[] = {
    {"per_step", false, take_unit<Unit::kStep>},
    {"per_run", false, take_unit<Unit::kRun>},
    {"limit", true, take_limit},
    {"allow", true, take_allowance},
    {"verdict", false, take_keys<kVerdictKeys>},
    {"findings", false, take_keys<kFindingsKeys>},
    {"losses", false, take_keys<kLossesKeys>},
    {"guard", false, take_keys<kGuardKeys>},
    {"fleet", false, take_keys<kFleetKeys>},
};

void take_section(BudgetValues& values, const toml::node& node, const Section& section, Budget& budget) {
  if (!section.comes_often) {
    if (const toml::table* table = node.as_table()) return section.take(values, *table, section.title(), 1, budget);
    return values.mistake(node.source(),
                          shown(section.name) + " is a table: write " + section.title() + " and its keys below.");
  }
  const toml::array* array = node.as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (table != nullptr) section.take(values, *table, section.title(), i + 1, budget);
    if (table == nullptr) array = nullptr;
  }
  if (array == nullptr) {
    values.mistake(node.source(), shown(section.name) + " comes as often as needed: write " + section.title() +
                                      " in double brackets, and its keys below.");
  }
}

bool limits_nothing(const Budget& budget) {
  const bool forbids_findings = budget.forbidden_findings && !budget.forbidden_findings->value.empty();
  const bool forbids_losses = budget.losses_line != 0 && !budget.are_losses_allowed;
  return budget.limits.empty() && !budget.bound_by && !budget.max_exposed_transfer_pct && !budget.max_gpu_idle_pct &&
         !forbids_findings && !budget.max_saving_pct && !forbids_losses;
}

Result<Budget> budget_of(BudgetValues& values, const toml::table& root, const std::string& path) {
  Budget budget;
  budget.path = path;
  for (const auto& [key, node] : root) {
    const std::string_view name = key.str();
    const auto section =
        std::find_if(std::begin(kSections), std::end(kSections), [&](const Section& one) { return one.name == name; });
    if (section == std::end(kSections)) {
      values.mistake(key.source(), "unknown table or key " + shown(name) + ". " +
                                       known(kSections, [](const Section& one) { return one.title(); }));
    } else {
      take_section(values, node, *section, budget);
    }
  }
  if (values.has_mistakes()) return Error{values.all_mistakes()};
  return budget;
}

Result<Budget> parse_file(std::string_view text, const std::string& path) {
  if (text.size() > kMaxBudgetBytes) {
    return Error{path + " is larger than " + std::to_string(kMaxBudgetBytes) + " bytes: that is no budget."};
  }
  if (const auto excess = what_is_too_deep(text)) return Error{path + *excess};
  BudgetValues values(path);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{values.at(parsed.error().source()) + "not TOML: " + std::string(parsed.error().description())};
  }
  return budget_of(values, parsed.table(), path);
}

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (std::filesystem::is_directory(status)) return Error{path.string() + " is a folder, not a budget."};
  // Opening a pipe would wait for its writer.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Error{path.string() + " is not a regular file. Copy it to one and name that."};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path.string() + " cannot be read."};
  std::string text(kMaxBudgetBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<Budget> parse_budget(std::string_view text, const std::string& path) {
  auto budget = parse_file(text, path);
  if (budget && limits_nothing(*budget)) {
    return Error{path +
                 ": this file sets no limit, so nothing could ever fail. `turnpike check --init RUN` "
                 "writes one to start from."};
  }
  return budget;
}

Result<Budget> read_budget(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return Error{text.error().message + " Name a budget with --budget, or make one with --init."};
  return parse_budget(*text, path.string());
}

Result<std::string> read_guard_rules(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return Error{text.error().message + " Name a file that has a table [guard] with --config."};
  const auto budget = parse_file(*text, path.string());
  if (!budget) return budget.error();
  if (budget->guard_rules.empty()) {
    return Error{path.string() + ": there is no table [guard] with rules, such as d2h = \"disallow\"."};
  }
  std::string rules = budget->guard_rules;
  for (const Allowance& allowance : budget->allowances) {
    // A guard knows no memset.
    if (allowance.direction == Direction::kMemset) continue;
    rules += allowance.is_optional ? "may_allow=" : "allow=";
    if (allowance.direction) rules += std::string(name_of(*allowance.direction)) + ' ';
    rules += allowance.site + '\n';
  }
  return rules;
}

}  // namespace turnpike::analyze
