// Small changes to text that many outputs make.
#include "base/text.h"

namespace turnpike {

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string percent_escaped(std::string_view text, bool (*is_plain)(char letter)) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char letter : text) {
    if (is_plain(letter)) {
      escaped += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return escaped;
}

}  // namespace turnpike
