// Joining and escaping.
#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace turnpike {
namespace {

using Parts = std::vector<std::string>;

TEST(Text, IsJoinedWithSeparatorsBetween) {
  EXPECT_EQ(joined(Parts{}, ", "), "");
  EXPECT_EQ(joined(Parts{"a"}, ", "), "a");
  EXPECT_EQ(joined(Parts{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(joined(Parts{"", "b", ""}, "-"), "-b-");
}

TEST(Text, IsEscapedByteByByte) {
  const auto is_letter = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  EXPECT_EQ(percent_escaped("abc", is_letter), "abc");
  EXPECT_EQ(percent_escaped("a%/b", is_letter), "a%25%2Fb");
  EXPECT_EQ(percent_escaped(std::string("\0\n\x7f\xc3\xbf", 5), is_letter), "%00%0A%7F%C3%BF");
}

}  // namespace
}  // namespace turnpike
