// Reads the metadata of a process, also where a value is several words: "generation=5 width=16".
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "trace/process.h"

namespace turnpike::analyze {

// nullopt: it is not a number alone. `base` is of whole numbers.
template <typename Number, typename... Base>
std::optional<Number> number_in(std::string_view text, Base... base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value of a key, or "" if the metadata lacks it.
inline std::string_view value_of(const trace::Process& process, const std::string& key) {
  const auto found = process.metadata.find(key);
  return found == process.metadata.end() ? std::string_view() : found->second;
}

// Calls `take` with each word between spaces.
template <typename Take>
void for_each_word(std::string_view text, Take take) {
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find(' ', start), text.size());
    if (end > start) take(text.substr(start, end - start));
    start = end + 1;
  }
}

// Calls `take` with the key and the value of each word "key=value".
template <typename Take>
void for_each_pair(std::string_view text, Take take) {
  for_each_word(text, [&](std::string_view word) {
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) take(word.substr(0, equals), word.substr(equals + 1));
  });
}

}  // namespace turnpike::analyze
