// Decodes UTF-8 strictly: overlong forms, surrogates and numbers beyond Unicode are not text.
#include "report/dump/quote.h"

#include <cstddef>
#include <cstdint>

namespace turnpike::trace {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[5] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || is_surrogate) return {};
  return {code, bytes};
}

bool is_harmless(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool is_line_separator = code == 0x2028 || code == 0x2029;
  const bool is_direction =
      code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !is_control && !is_line_separator && !is_direction;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = character.bytes > 0 ? character.bytes : 1;
    if (character.bytes > 0 && is_harmless(character.code)) {
      if (character.code == '"' || character.code == '\\') out += '\\';
      out += text.substr(0, bytes);
    } else {
      for (const char byte : text.substr(0, bytes)) {
        const auto value = static_cast<unsigned char>(byte);
        out += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
      }
    }
    text.remove_prefix(bytes);
  }
  return out += '"';
}

}  // namespace turnpike::trace
