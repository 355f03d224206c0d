// Splits at the last colon.
#include "base/file_line.h"

#include <charconv>

namespace turnpike {

std::optional<FileLine> parse_file_line(std::string_view text) {
  text = without_compiled_mark(text);
  const auto colon = text.rfind(':');
  const bool has_file = colon != std::string_view::npos;
  const std::string_view digits = has_file ? text.substr(colon + 1) : text;
  FileLine parsed{has_file ? text.substr(0, colon) : std::string_view()};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed.line);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return parsed;
}

}  // namespace turnpike
