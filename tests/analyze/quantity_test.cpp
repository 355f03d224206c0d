// Sizes and durations as people write them.
#include "analyze/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

using ::testing::HasSubstr;

TEST(Quantity, SizesInPowersOfThousandAndOf1024) {
  EXPECT_EQ(*parse_size("12 MB"), 12e6);
  EXPECT_EQ(*parse_size("1.5KiB"), 1536);
  EXPECT_EQ(*parse_size("0 B"), 0);
}

TEST(Quantity, DurationsInNanoseconds) {
  EXPECT_EQ(*parse_duration("0.2 ms"), 200'000);
  EXPECT_EQ(*parse_duration("3us"), 3'000);
  EXPECT_EQ(*parse_duration("2 min"), 120e9);
}

TEST(Quantity, RejectsWhatHasNoUnitOrAnUnknownOne) {
  EXPECT_THAT(parse_size("12").error().message, HasSubstr("has no unit; known are B, kB"));
  EXPECT_THAT(parse_size("12 Mb").error().message, HasSubstr("unknown unit"));
  EXPECT_THAT(parse_duration("1 h").error().message, HasSubstr("known are ns, us, ms, s, min"));
}

TEST(Quantity, RejectsWhatIsNoNumber) {
  for (const char* text : {"", "MB", "-1 MB", "nan MB", "inf MB", "1e999 MB", " 1 MB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

}  // namespace
}  // namespace turnpike::analyze
