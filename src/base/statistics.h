// One value in the place of many: medians and deciles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace turnpike {

// Of two in the middle their mean, rounded down. nullopt: there are no values.
template <typename Value>
std::optional<Value> median(std::vector<Value> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

// The value that `tenths` of ten of the way from the least to the largest, rounded down, lead to. nullopt: there are no
// values.
template <typename Value>
std::optional<Value> decile(std::vector<Value> values, std::size_t tenths) {
  if (values.empty()) return std::nullopt;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * tenths / 10);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace turnpike
