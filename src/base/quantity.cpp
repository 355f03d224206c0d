#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>

namespace turnpike {
namespace {

struct ReadUnit {
  std::string_view name;
  double size;
};

constexpr ReadUnit kReadSizes[] = {{"B", 1},           {"kB", 1e3},           {"MB", 1e6},
                                   {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                                   {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
constexpr ReadUnit kReadDurations[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};

std::string names_of(std::span<const ReadUnit> units) {
  std::string text;
  for (const ReadUnit& unit : units) text += (text.empty() ? "" : ", ") + std::string(unit.name);
  return text;
}

Result<double> parse(std::string_view text, std::span<const ReadUnit> units, const char* example) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc())
    return Error{std::string("does not start with a number; write it like \"") + example + "\""};
  if (!std::isfinite(number) || number < 0) return Error{"is not a number from 0 on"};
  std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  for (const ReadUnit& unit : units) {
    if (unit.name == name) return number * unit.size;
  }
  return Error{std::string(name.empty() ? "has no unit" : "has an unknown unit") + "; known are " + names_of(units)};
}

}  // namespace

Result<double> parse_size(std::string_view text) {
  return parse(text, kReadSizes, "12 MB");
}

Result<double> parse_duration(std::string_view text) {
  return parse(text, kReadDurations, "0.2 ms");
}

}  // namespace turnpike
