// What is a character, and which of them can be shown.
#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace turnpike {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Controls, and what a terminal shows as nothing or lets change the direction of what follows.
constexpr Range kHarmful[] = {
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},    {0x061C, 0x061C}, {0x180E, 0x180E},
    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF},
};

// Those with the property White_Space.
constexpr Range kBlank[] = {
    {0x0009, 0x000D}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0}, {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

template <std::size_t kCount>
bool is_in(char32_t value, const Range (&ranges)[kCount]) {
  const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), value,
                                       [](char32_t v, const Range& range) { return v < range.first; });
  return after != std::begin(ranges) && value <= std::prev(after)->last;
}

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

bool is_harmless(char32_t value) {
  return !is_in(value, kHarmful);
}

bool is_blank(char32_t value) {
  return is_in(value, kBlank);
}

void append_utf8(std::string& text, char32_t value) {
  constexpr char32_t kReplacement = 0xFFFD;
  if ((value >= 0xD800 && value < 0xE000) || value > 0x10FFFF) value = kReplacement;
  const auto put = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto put_rest = [&](int shift) { put(0x80 | (value >> shift & 0x3F)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put_rest(0);
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | value >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

}  // namespace turnpike
