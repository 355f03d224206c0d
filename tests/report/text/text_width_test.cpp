// Untrusted text on a terminal.
#include "report/text/text_width.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "report/golden.h"

namespace turnpike::report {
namespace {

TEST(TextWidth, PrintableTextStaysAsItIs) {
  EXPECT_EQ(cleaned("train.py:23 \xe6\xbc\xa2\xc3\xa9"), "train.py:23 \xe6\xbc\xa2\xc3\xa9");
}

TEST(TextWidth, TerminalCommandsBecomeVisible) {
  EXPECT_EQ(cleaned("\x1b[2Ja\n"), "\\x1b[2Ja\\x0a");
  EXPECT_EQ(cleaned("\xc2\x9b"), "\\x9b") << "the one-character form of ESC [";
}

TEST(TextWidth, DirectionAndZeroWidthCharactersBecomeVisible) {
  EXPECT_EQ(cleaned("\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf"), "\\u202e\\u200b\\ufeff");
}

TEST(TextWidth, InvalidBytesBecomeVisibleOneByOne) {
  EXPECT_EQ(cleaned("\xff"
                    "a\xe6\xbc"),
            "\\xffa\\xe6\\xbc");
  EXPECT_EQ(cleaned("\xc0\x80"), "\\xc0\\x80") << "an overlong zero";
  EXPECT_EQ(cleaned("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
}

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\xe6\xbc\xa2\xe5\xad\x97"), 4u);
  EXPECT_EQ(display_width("\xc3\xa9"), 1u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);
  EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2u);
}

TEST(TextWidth, ShortensInTheMiddleKeepingTheEnd) {
  EXPECT_EQ(shortened_middle("/home/me/project/train.py:23", 17), "/hom...rain.py:23");
  EXPECT_EQ(shortened_middle("train.py:23", 17), "train.py:23");
}

TEST(TextWidth, NeverCutsACharacterInTwo) {
  const std::string wide = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97";
  for (std::size_t width = 0; width < 12; ++width) {
    for (const std::string& text : {shortened_middle(wide, width), shortened_end(wide, width)}) {
      EXPECT_LE(display_width(text), width);
      EXPECT_EQ(cleaned(text), text);
    }
  }
}

TEST(TextWidth, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrapped("", 3), (std::vector<std::string>{""}));
  EXPECT_EQ(wrapped("one two ", 7), (std::vector<std::string>{"one two"}));
}

std::string encoded(char32_t value) {
  const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto following = [&](char32_t of, int shift) { return byte(0x80 | ((of >> shift) & 0x3F)); };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | (value >> 6)), following(value, 0)};
  if (value < 0x10000) return {byte(0xE0 | (value >> 12)), following(value, 6), following(value, 0)};
  return {byte(0xF0 | (value >> 18)), following(value, 12), following(value, 6), following(value, 0)};
}

// Each stretch of characters that a terminal shows alike. Compared with the East Asian Width of Unicode 15 when it was
// accepted: no wide or fullwidth character is narrow here.
TEST(TextWidth, EveryCharacterHasItsWidth) {
  std::string text;
  std::string last;
  for (char32_t value = 0; value <= 0x110000; ++value) {
    std::string kind = "none";
    if (value < 0x110000 && (value < 0xD800 || value > 0xDFFF)) {
      const std::string one = encoded(value);
      kind =
          cleaned(one) != one ? "escaped " + std::to_string(cleaned(one).size()) : std::to_string(display_width(one));
    }
    if (kind == last) continue;
    char line[48];
    std::snprintf(line, sizeof line, "%06X %s\n", static_cast<unsigned>(value), kind.c_str());
    text += line;
    last = kind;
  }
  expect_golden(text, "widths.txt");
}

TEST(TextWidth, EscapesNameTheCharacter) {
  EXPECT_EQ(cleaned(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(cleaned(encoded(0xAD)), "\\xad");
  EXPECT_EQ(cleaned(encoded(0x61C)), "\\u061c");
  EXPECT_EQ(cleaned(encoded(0xFEFF)), "\\ufeff");
  EXPECT_EQ(cleaned(encoded(0xE0001)), "\\U000e0001");
}

TEST(TextWidth, ShortensToEveryWidth) {
  const char* middle[] = {"", "a", "ab", "abc", "...j", "...ij", "a...ij", "a...hij", "a...ghij", "ab...ghij"};
  const char* end[] = {"", "a", "ab", "abc", "a...", "ab...", "abc...", "abcd...", "abcde...", "abcdef..."};
  for (std::size_t width = 0; width < 10; ++width) {
    EXPECT_EQ(shortened_middle("abcdefghij", width), middle[width]) << width;
    EXPECT_EQ(shortened_end("abcdefghij", width), end[width]) << width;
  }
  EXPECT_EQ(shortened_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened_end("abcdefghij", 10), "abcdefghij");
}

TEST(TextWidth, ShortensWideCharactersByTheirColumns) {
  const std::string wide = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2";  // six columns
  EXPECT_EQ(shortened_end(wide, 6), wide);
  EXPECT_EQ(shortened_end(wide, 5), "\xe6\xbc\xa2...");
  EXPECT_EQ(shortened_end(wide, 4), "...") << "half of one does not fit";
  EXPECT_EQ(shortened_middle(wide, 5), "...\xe6\xbc\xa2");
}

TEST(TextWidth, WrapsAtTheLastSpaceThatFits) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"})) << "the space is where the line ends";
  EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrapped("one two three", 13), (Lines{"one two three"}));
  EXPECT_EQ(wrapped("one   two", 4), (Lines{"one ", "two"}));
  EXPECT_EQ(wrapped(" abcdef", 4), (Lines{" abc", "def"})) << "an indent is no place to break";
  EXPECT_EQ(wrapped("a bcdef", 4), (Lines{"a", "bcde", "f"}));
  EXPECT_EQ(wrapped("ab   ", 2), (Lines{"ab"}));
}

TEST(TextWidth, BeginsNoLineAsARunnerOfJobsObeys) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("abcd::efg", 4), (Lines{"abcd", "\\x3a", ":efg"}));
  EXPECT_EQ(wrapped("ab::efg", 4), (Lines{"ab::", "efg"}));
  for (const std::string& line : wrapped("a" + std::string(40, ':'), 7)) EXPECT_FALSE(line.starts_with("::")) << line;
}

TEST(TextWidth, WrapsWhatCannotFit) {
  EXPECT_EQ(wrapped("\xe6\xbc\xa2\xe5\xad\x97", 1).size(), 2u);
}

}  // namespace
}  // namespace turnpike::report
