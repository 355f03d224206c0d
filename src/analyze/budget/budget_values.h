// The values of a budget file by their kinds, and the mistakes that are found on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/budget/budget.h"
#include "base/result.h"

// Returns errors as values and writes nothing.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace turnpike::analyze {

// What the file wrote, in quotes and on one line, whatever it holds.
std::string shown(std::string_view text);
// "a, b and c".
std::string listed(const std::vector<std::string>& names, const char* last = " and ");

// The names of directions and of verdicts.
std::vector<std::string> direction_names();
std::vector<std::string> verdict_names();
std::optional<Direction> direction_named(std::string_view name);

inline std::uint32_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

// Reads values. Each function gives nullopt after a mistake, which it notes with the place of the value.
class BudgetValues {
 public:
  explicit BudgetValues(std::string path) : path_(std::move(path)) {}

  std::optional<std::string> text(const toml::node& node, std::string_view key);
  std::optional<std::vector<std::string>> texts(const toml::node& node, std::string_view key);
  std::optional<bool> truth(const toml::node& node, std::string_view key);
  std::optional<double> count(const toml::node& node, std::string_view key);  // from 0 on, whole or not
  std::optional<double> percent(const toml::node& node, std::string_view key);
  std::optional<double> size(const toml::node& node, std::string_view key);      // bytes
  std::optional<double> duration(const toml::node& node, std::string_view key);  // ns
  std::optional<Direction> direction(const toml::node& node, std::string_view key);
  std::optional<Unit> unit(const toml::node& node, std::string_view key);
  std::optional<std::vector<Bound>> verdicts(const toml::node& node, std::string_view key);

  void mistake(const toml::source_region& place, const std::string& what);
  bool has_mistakes() const { return !mistakes_.empty(); }
  // A line for each, in the order of the file, which the tables do not keep.
  std::string all_mistakes();
  // "turnpike.toml:3:13: "
  std::string at(const toml::source_region& place) const;

 private:
  struct Mistake {
    std::uint32_t line, column;
    std::string text;
  };

  std::optional<double> quantity(const toml::node& node, std::string_view key,
                                 Result<double> (*parse)(std::string_view), bool is_plain_number_fine,
                                 const char* example);

  std::string path_;
  std::vector<Mistake> mistakes_;
};

}  // namespace turnpike::analyze
