// Parses the symbols of at::_ops and looks their structures up.
#include "base/operator_name.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace turnpike {
namespace {

struct OverloadedOperator {
  std::string_view structure;
  std::uint8_t name_bytes;
};

constexpr OverloadedOperator kOverloadedOperators[] = {
#include "base/operator_table.inc"
};

constexpr std::string_view kPrefix = "_ZN2at4_ops";

}  // namespace

std::optional<std::string_view> operator_structure(std::string_view symbol) {
  if (!symbol.starts_with(kPrefix)) return std::nullopt;
  symbol.remove_prefix(kPrefix.size());
  std::size_t length = 0;
  const auto [digits_end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), length);
  if (error != std::errc{}) return std::nullopt;
  symbol.remove_prefix(static_cast<std::size_t>(digits_end - symbol.data()));
  if (length >= symbol.size()) return std::nullopt;
  const std::string_view method = symbol.substr(length);
  if (!method.starts_with("4callE") && !method.starts_with("10redispatchE")) return std::nullopt;
  return symbol.substr(0, length);
}

std::string operator_name(std::string_view structure) {
  const auto* found = std::lower_bound(
      std::begin(kOverloadedOperators), std::end(kOverloadedOperators), structure,
      [](const OverloadedOperator& entry, std::string_view wanted) { return entry.structure < wanted; });
  const bool is_overloaded = found != std::end(kOverloadedOperators) && found->structure == structure;
  std::string name = "aten::";
  name += is_overloaded ? structure.substr(0, found->name_bytes) : structure;
  return name;
}

}  // namespace turnpike
