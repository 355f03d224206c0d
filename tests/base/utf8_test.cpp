// UTF-8 at the edges of each length.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

std::string encoded(char32_t value) {
  const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto following = [&](int shift) { return byte(0x80 | ((value >> shift) & 0x3F)); };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | (value >> 6)), following(0)};
  if (value < 0x10000) return {byte(0xE0 | (value >> 12)), following(6), following(0)};
  return {byte(0xF0 | (value >> 18)), following(12), following(6), following(0)};
}

TEST(Utf8, EveryCharacterIsRead) {
  for (char32_t value = 0; value < 0x110000; ++value) {
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    const std::string text = encoded(value) + "x";
    const CodePoint point = first_code_point(text);
    ASSERT_EQ(point.is_valid, !is_surrogate) << std::hex << static_cast<unsigned>(value);
    if (is_surrogate) continue;
    ASSERT_EQ(point.value, value);
    ASSERT_EQ(point.bytes, text.size() - 1);
  }
}

void expect_invalid(const std::string& text) {
  const CodePoint point = first_code_point(text);
  EXPECT_FALSE(point.is_valid) << testing::PrintToString(text);
  EXPECT_EQ(point.bytes, 1u);
  EXPECT_EQ(point.value, static_cast<unsigned char>(text[0]));
}

TEST(Utf8, WhatIsNoCharacterIsOneByte) {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    expect_invalid(text);
  }
}

TEST(Utf8, WhatIsCutOffOrInterruptedIsNoCharacter) {
  for (const char32_t value : {0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    const std::string whole = encoded(value);
    for (std::size_t length = 1; length < whole.size(); ++length) {
      expect_invalid(whole.substr(0, length));
      for (const char other : {'\x00', '\x7f', '\xc0', '\xff'}) {
        std::string broken = whole;
        broken[length] = other;
        expect_invalid(broken);
      }
    }
  }
}

}  // namespace
}  // namespace turnpike
