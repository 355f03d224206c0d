// Escapes byte by byte, so that the bytes of the file can be read off.
#include "report/dump/quote.h"

#include "base/cleaned_text.h"
#include "base/utf8.h"

namespace turnpike::report {

std::string quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint character = first_code_point(text);
    if (character.is_valid && is_harmless(character.value) && !starts_command(text, false)) {
      if (character.value == '"' || character.value == '\\') out += '\\';
      out += text.substr(0, character.bytes);
    } else {
      for (const char byte : text.substr(0, character.bytes)) {
        const auto value = static_cast<unsigned char>(byte);
        out += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
      }
    }
    text.remove_prefix(character.bytes);
  }
  return out += '"';
}

}  // namespace turnpike::report
