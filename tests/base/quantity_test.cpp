// Sizes and durations as people write them.
#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
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

TEST(Quantity, KnowsEveryUnit) {
  const std::pair<const char*, double> sizes[] = {{"3 B", 3},
                                                  {"3 kB", 3e3},
                                                  {"3 MB", 3e6},
                                                  {"3 GB", 3e9},
                                                  {"3 TB", 3e12},
                                                  {"3 KiB", 3072},
                                                  {"3 MiB", 3.0 * 1048576},
                                                  {"3 GiB", 3.0 * 1073741824},
                                                  {"3 TiB", 3.0 * 1099511627776}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(*parse_size(text), bytes) << text;
  const std::pair<const char*, double> durations[] = {
      {"3 ns", 3}, {"3 us", 3e3}, {"3 ms", 3e6}, {"3 s", 3e9}, {"3 min", 180e9}};
  for (const auto& [text, ns] : durations) EXPECT_EQ(*parse_duration(text), ns) << text;
}

TEST(Quantity, SaysHowToWriteIt) {
  EXPECT_EQ(parse_size("x").error().message, "does not start with a number; write it like \"12 MB\"");
  EXPECT_EQ(parse_duration("").error().message, "does not start with a number; write it like \"0.2 ms\"");
  EXPECT_EQ(parse_size("-1 MB").error().message, "is not a number from 0 on");
  EXPECT_EQ(parse_duration("3").error().message, "has no unit; known are ns, us, ms, s, min");
  EXPECT_EQ(parse_duration("3   s x").error().message, "has an unknown unit; known are ns, us, ms, s, min");
  EXPECT_EQ(*parse_duration("3   s"), 3e9);
}

}  // namespace
}  // namespace turnpike
