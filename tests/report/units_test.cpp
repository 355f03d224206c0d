// Figures for people.
#include "report/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace turnpike::report {
namespace {

TEST(Units, DurationsHaveThreeDigitsThatCount) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(3'210), "3.21 us");
  EXPECT_EQ(duration_text(61'200'000), "61.2 ms");
  EXPECT_EQ(duration_text(std::int64_t{12'300'000'000}), "12.3 s");
  EXPECT_EQ(duration_text(std::int64_t{90'000'000'000}), "1.50 min");
  EXPECT_EQ(duration_text(std::int64_t{3'600'000'000'000} * 31), "31.0 h");
}

TEST(Units, RoundingUpMovesToTheNextUnit) {
  EXPECT_EQ(duration_text(999'949), "1.00 ms");
  EXPECT_EQ(size_text(999'700), "1.00 MB");
}

TEST(Units, UnknownIsNotZero) {
  EXPECT_EQ(duration_text(std::optional<std::int64_t>()), "?");
  EXPECT_EQ(rate_text(std::nullopt), "?");
  EXPECT_EQ(percent_text(std::nullopt), "?");
  EXPECT_EQ(percent_text(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(Units, SizesAreDecimal) {
  EXPECT_EQ(size_text(4), "4 B");
  EXPECT_EQ(size_text(200'704), "201 kB");
  EXPECT_EQ(size_text(std::uint64_t{1} << 30), "1.07 GB");
  EXPECT_EQ(size_text(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

TEST(Units, CountsAreExactUntilTheyAreTooLongToRead) {
  EXPECT_EQ(count_text(9'999'999), "9999999");
  EXPECT_EQ(count_text(12'345'678), "12.3M");
}

TEST(Units, NeitherAlmostNothingNorAlmostAllIsRoundedAway) {
  EXPECT_EQ(percent_text(0.0), "0 %");
  EXPECT_EQ(percent_text(0.2), "<1 %");
  EXPECT_EQ(percent_text(99.7), "99 %");
  EXPECT_EQ(percent_text(100.0), "100 %");
}

TEST(Units, TheLongestTimesHaveAText) {
  EXPECT_EQ(duration_text(std::numeric_limits<std::int64_t>::max()), "2562048 h");
  EXPECT_EQ(duration_text(std::numeric_limits<std::int64_t>::min()), "-2562048 h");
}

}  // namespace
}  // namespace turnpike::report
