// Figures for people.
#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>

namespace turnpike {
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

TEST(Units, DurationsChangeTheirUnitWhereTheyRoundToOne) {
  const std::int64_t second = 1'000'000'000;
  const std::pair<std::int64_t, const char*> cases[] = {
      {1, "1 ns"},
      {1'000, "1.00 us"},
      {9'994, "9.99 us"},
      {9'996, "10.0 us"},
      {99'940, "99.9 us"},
      {99'960, "100 us"},
      {999'499, "999 us"},
      {999'500, "1.00 ms"},
      {999'499'999, "999 ms"},
      {999'500'000, "1.00 s"},
      {60 * second - 30'000'001, "60.0 s"},
      {60 * second - 30'000'000, "1.00 min"},
      {3'600 * second - 1'800'000'001, "60.0 min"},
      {3'600 * second - 1'800'000'000, "1.00 h"},
      {-1, "-1 ns"},
      {-3'210, "-3.21 us"},
  };
  for (const auto& [duration_ns, text] : cases) EXPECT_EQ(duration_text(duration_ns), text) << duration_ns;
  EXPECT_EQ(duration_text(std::optional<std::int64_t>(3'210)), "3.21 us");
}

TEST(Units, SizesChangeTheirUnitWhereTheyRoundToOne) {
  const std::pair<std::uint64_t, const char*> cases[] = {
      {0, "0 B"},
      {999, "999 B"},
      {1'000, "1.00 kB"},
      {1'023, "1.02 kB"},
      {1'024, "1.02 kB"},
      {999'499, "999 kB"},
      {999'500, "1.00 MB"},
      {999'499'999, "999 MB"},
      {999'500'000, "1.00 GB"},
      {999'499'999'999, "999 GB"},
      {999'500'000'000, "1.00 TB"},
      {999'499'999'999'000, "999 TB"},
      {999'500'000'000'000, "1.00 PB"},
      {999'499'999'999'000'000, "999 PB"},
      {999'500'000'000'000'000, "1.00 EB"},
  };
  for (const auto& [size_bytes, text] : cases) EXPECT_EQ(size_text(size_bytes), text) << size_bytes;
}

TEST(Units, CountsChangeTheirUnitWhereTheyRoundToOne) {
  const std::pair<std::uint64_t, const char*> cases[] = {
      {0, "0"},
      {10'000'000, "10.0M"},
      {999'499'999, "999M"},
      {999'500'000, "1.00G"},
      {999'499'999'999, "999G"},
      {999'500'000'000, "1.00T"},
      {999'499'999'999'000, "999T"},
      {999'500'000'000'000, "1.00P"},
      {999'499'999'999'000'000, "999P"},
      {999'500'000'000'000'000, "1.00E"},
  };
  for (const auto& [count, text] : cases) EXPECT_EQ(count_text(count), text) << count;
}

TEST(Units, NumbersHaveThreeDigitsThatCount) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},           {-0.0, "0"},        {0.0032, "0.0032"}, {0.5, "0.5"},    {-0.5, "-0.5"},
      {0.99949, "0.999"}, {0.9995, "1.00"},   {-1.5, "-1.50"},    {9.994, "9.99"}, {9.995, "10.0"},
      {-9.995, "-10.0"},  {99.94, "99.9"},    {99.95, "100"},     {999.6, "1000"}, {9'999'999, "9999999"},
      {1e7, "1.00e+07"},  {-1e7, "-1.00e+07"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(number_text(value), text) << value;
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(Units, RatesAreInGigabytesASecond) {
  EXPECT_EQ(rate_text(0.0), "0 GB/s");
  EXPECT_EQ(rate_text(0.25), "0.25 GB/s");
  EXPECT_EQ(rate_text(7.716), "7.72 GB/s");
  EXPECT_EQ(rate_text(55.25), "55.2 GB/s");
  EXPECT_EQ(rate_text(1511.2), "1511 GB/s");
  EXPECT_EQ(rate_text(-std::numeric_limits<double>::infinity()), "?");
}

TEST(Units, PercentAreWholeButForTheEnds) {
  const std::pair<double, const char*> cases[] = {
      {0.001, "<1 %"},       {0.999, "<1 %"},     {1.0, "1 %"},     {1.4, "1 %"},
      {1.6, "2 %"},          {50.6, "51 %"},      {98.6, "99 %"},   {99.0, "99 %"},
      {99.001, "99 %"},      {99.999, "99 %"},    {100.4, "100 %"}, {250, "250 %"},
      {999'999, "999999 %"}, {1e6, "1.00e+06 %"}, {-5.2, "-5 %"},   {-1e6, "-1.00e+06 %"}};
  for (const auto& [percent, text] : cases) EXPECT_EQ(percent_text(percent), text) << percent;
  EXPECT_EQ(percent_text(std::numeric_limits<double>::infinity()), "?");
}

TEST(Units, TheLongestTimesHaveAText) {
  EXPECT_EQ(duration_text(std::numeric_limits<std::int64_t>::max()), "2562048 h");
  EXPECT_EQ(duration_text(std::numeric_limits<std::int64_t>::min()), "-2562048 h");
}

TEST(Units, AmountsAreWholeWhereTheyAre) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},       {2, "2"},  {2 + 1e-10, "2"},      {2 + 1e-8, "2.00"},  {0.5, "0.5"},
      {2.04, "2.04"}, {-1, "0"}, {12'345'678, "12.3M"}, {1e15 - 1, "1.00P"}, {1e15, "1.00e+15"}};
  for (const auto& [amount, text] : cases) EXPECT_EQ(amount_text(amount), text) << amount;
}

TEST(Units, BytesHaveDecimalsBelowOne) {
  const std::pair<double, const char*> cases[] = {
      {-3, "0 B"},  {0, "0 B"},   {0.5, "0.5 B"},     {0.999, "0.999 B"},  {1, "1 B"},
      {1.4, "1 B"}, {1.6, "2 B"}, {1'500, "1.50 kB"}, {1.8e19, "18.0 EB"}, {1e30, "18.0 EB"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(bytes_text(bytes), text) << bytes;
}

TEST(Units, TimesAreRoundedAndBounded) {
  EXPECT_EQ(time_text(1.4), "1 ns");
  EXPECT_EQ(time_text(1.6), "2 ns");
  EXPECT_EQ(time_text(-1.6), "-2 ns");
  EXPECT_EQ(time_text(9.1e18), "2527778 h");
  EXPECT_EQ(time_text(9.2e18), "?");
  EXPECT_EQ(time_text(-9.2e18), "?");
  EXPECT_EQ(time_text(std::nullopt), "?");
  EXPECT_EQ(time_text(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(Units, SayTimesWithThreeDigits) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(999.4), "999 ns");
  EXPECT_EQ(time_text(999.5), "1.00 us");
  EXPECT_EQ(time_text(1234), "1.23 us");
  EXPECT_EQ(time_text(9994), "9.99 us");
  EXPECT_EQ(time_text(9995), "10.0 us");
  EXPECT_EQ(time_text(99'949), "99.9 us");
  EXPECT_EQ(time_text(99'950), "100 us");
  EXPECT_EQ(time_text(999'499), "999 us");
  EXPECT_EQ(time_text(999'500), "1.00 ms");
  EXPECT_EQ(time_text(45'600'000), "45.6 ms");
  EXPECT_EQ(time_text(999'499'999), "999 ms");
  EXPECT_EQ(time_text(999'500'000), "1.00 s");
  EXPECT_EQ(time_text(12'345'000'000), "12.3 s");
}

TEST(Units, SaySizesWithThreeDigits) {
  EXPECT_EQ(bytes_text(999.4), "999 B");
  EXPECT_EQ(bytes_text(999.5), "1.00 kB");
  EXPECT_EQ(bytes_text(4096), "4.10 kB");
  EXPECT_EQ(bytes_text(999'499), "999 kB");
  EXPECT_EQ(bytes_text(999'500), "1.00 MB");
  EXPECT_EQ(bytes_text(999'499'999), "999 MB");
  EXPECT_EQ(bytes_text(999'500'000), "1.00 GB");
  EXPECT_EQ(bytes_text(80e9), "80.0 GB");
  EXPECT_EQ(rate_text(8.456), "8.46 GB/s");
  EXPECT_EQ(rate_text(55), "55.0 GB/s");
  EXPECT_EQ(rate_text(450), "450 GB/s");
}

TEST(Units, RoundedSharesMayBeNoneAndAll) {
  EXPECT_EQ(rounded_percent_text(0.4), "0 %");
  EXPECT_EQ(rounded_percent_text(-0.4), "0 %");
  EXPECT_EQ(rounded_percent_text(12.5), "13 %");
  EXPECT_EQ(rounded_percent_text(99.6), "100 %");
}

TEST(Units, ExactSharesHaveADecimal) {
  EXPECT_EQ(exact_percent_text(0), "0.0 %");
  EXPECT_EQ(exact_percent_text(12.34), "12.3 %");
  EXPECT_EQ(exact_percent_text(99.96), "100.0 %");
}

}  // namespace
}  // namespace turnpike
