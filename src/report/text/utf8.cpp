#include "report/text/utf8.h"

#include <array>

namespace turnpike::report {
namespace {

std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool is_overlong_or_surrogate(char32_t value, std::size_t bytes) {
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  return value < kSmallest[bytes] || (value >= 0xD800 && value < 0xE000) || value > 0x10FFFF;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const CodePoint invalid{lead, 1, false};
  const std::size_t bytes = sequence_length(lead);
  if (bytes == 0 || bytes > text.size()) return invalid;
  if (bytes == 1) return {lead, 1, true};
  char32_t value = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return invalid;
    value = (value << 6) | (next & 0x3Fu);
  }
  if (is_overlong_or_surrogate(value, bytes)) return invalid;
  return {value, bytes, true};
}

}  // namespace turnpike::report
