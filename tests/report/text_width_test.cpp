// Untrusted text on a terminal.
#include "report/text_width.h"

#include <gtest/gtest.h>

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

TEST(TextWidth, WrapsWhatCannotFit) {
  EXPECT_EQ(wrapped("\xe6\xbc\xa2\xe5\xad\x97", 1).size(), 2u);
}

}  // namespace
}  // namespace turnpike::report
