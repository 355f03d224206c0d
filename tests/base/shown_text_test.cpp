#include "base/shown_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(ShownText, LeavesWhatIsShortEnoughAsItIs) {
  EXPECT_EQ(shown(""), "");
  const std::string longest(kMaxShownBytes, 'x');
  EXPECT_EQ(shown(longest), longest);
}

TEST(ShownText, KeepsBothEndsAndSaysTheLength) {
  const std::string text = "start" + std::string(1'000'000, 'x') + "end";
  const std::string short_text = shown(text);
  EXPECT_LE(short_text.size(), kMaxShownBytes);
  EXPECT_GT(short_text.size(), kMaxShownBytes - 100);
  EXPECT_TRUE(short_text.starts_with("startx"));
  EXPECT_TRUE(short_text.ends_with("xend"));
  EXPECT_NE(short_text.find("x ... (1000008 bytes in all) ... x"), std::string::npos);
}

TEST(ShownText, CutsNoCharacterInTwo) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    for (int i = 0; i < 2000; ++i) text += "\xF0\x9F\x98\x80";
    const std::string short_text = shown(text);
    const auto gap = short_text.find(" ... (");
    const auto tail = short_text.find(") ... ") + 6;
    EXPECT_EQ((gap - shift) % 4, 0u) << shift;
    EXPECT_EQ((short_text.size() - tail) % 4, 0u) << shift;
  }
}

TEST(ShownText, BearsBytesThatAreNoText) {
  const std::string text(10'000, '\x80');
  EXPECT_LE(shown(text).size(), kMaxShownBytes);
  EXPECT_GT(shown(text).size(), kMaxShownBytes - 100);
}

}  // namespace
}  // namespace turnpike
