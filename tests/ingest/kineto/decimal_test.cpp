// Times from decimal text, to the nanosecond.
#include "ingest/kineto/decimal.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::ingest {
namespace {

TEST(Nanoseconds, AreExactForEveryStyleOfPyTorch) {
  EXPECT_EQ(nanoseconds_of("1700000000123456"), 1'700'000'000'123'456'000);      // up to 2.2: whole microseconds
  EXPECT_EQ(nanoseconds_of("1712345678901234.567"), 1'712'345'678'901'234'567);  // 2.3: more than a double holds
  EXPECT_EQ(nanoseconds_of("4351982327149.718"), 4'351'982'327'149'718);         // 2.4 on: since a base time
  EXPECT_EQ(nanoseconds_of("0.736"), 736);
  EXPECT_EQ(nanoseconds_of("12"), 12'000);
  EXPECT_EQ(nanoseconds_of("2.4"), 2'400);
  EXPECT_EQ(nanoseconds_of("-1.5"), -1'500);
  EXPECT_EQ(nanoseconds_of("0"), 0);
}

TEST(Nanoseconds, AreRoundedWhereTheTextHasMoreDigits) {
  EXPECT_EQ(nanoseconds_of("0.0004"), 0);
  EXPECT_EQ(nanoseconds_of("0.0005"), 1);
  EXPECT_EQ(nanoseconds_of("-0.0005"), -1);
  EXPECT_EQ(nanoseconds_of("1712345678901234.56789"), 1'712'345'678'901'234'568);
  EXPECT_EQ(nanoseconds_of("1712345678901234.5674999999999999999999999999"), 1'712'345'678'901'234'567);
  EXPECT_EQ(nanoseconds_of("0.00000000000000000000000000000000000001"), 0);
}

TEST(Nanoseconds, CanHaveAnExponent) {
  EXPECT_EQ(nanoseconds_of("1.712345678901234567e+15"), 1'712'345'678'901'234'567);
  EXPECT_EQ(nanoseconds_of("1E3"), 1'000'000);
  EXPECT_EQ(nanoseconds_of("25e-1"), 2'500);
  EXPECT_EQ(nanoseconds_of("0e999"), 0);
}

TEST(Nanoseconds, AreUnknownWhereThereIsNoNumber) {
  for (const char* text :
       {"", "-", ".", "NaN", "Infinity", "-Infinity", "null", "1.2.3", "1e", "1e5x", "12a", "0x10", "e5"}) {
    EXPECT_EQ(nanoseconds_of(text), std::nullopt) << text;
  }
}

TEST(Nanoseconds, AreUnknownBeyondTheirRange) {
  EXPECT_EQ(nanoseconds_of("9223372036854775.807"), 9'223'372'036'854'775'807);
  EXPECT_EQ(nanoseconds_of("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(nanoseconds_of("1e30"), std::nullopt);
  EXPECT_EQ(nanoseconds_of("1e999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds_of(std::string(1000, '9')), std::nullopt);
}

TEST(Integer, IsAllOfTheTextAndInRange) {
  EXPECT_EQ(integer_of("41943040"), 41'943'040);
  EXPECT_EQ(integer_of("-1"), -1);
  for (const char* text : {"", "1.5", "12 ", "NaN", "18446744073709551615", "+1"}) {
    EXPECT_EQ(integer_of(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace turnpike::ingest
