// Base64 against the vectors of RFC 4648, section 10.
#include "base/base64.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Base64, MatchesPublishedVectors) {
  constexpr std::string_view kText = "foobar";
  const char* const expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size <= kText.size(); ++size) EXPECT_EQ(base64(kText.substr(0, size)), expected[size]);
}

TEST(Base64, UsesTheWholeAlphabet) {
  EXPECT_EQ(base64("\xfb\xff\xfe\x01"), "+//+AQ==");
  EXPECT_EQ(base64(std::string_view("\0\0\0", 3)), "AAAA");
}

}  // namespace
}  // namespace turnpike
