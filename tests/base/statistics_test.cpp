// One value in the place of many.
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace turnpike {
namespace {

using Values = std::vector<std::int64_t>;

TEST(Statistics, TheMedianIsTheMeanOfTwoInTheMiddle) {
  EXPECT_EQ(median(Values{7}), 7);
  EXPECT_EQ(median(Values{9, 1}), 5);
  EXPECT_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_EQ(median(Values{4, 1, 3, 2}), 2) << "rounded down";
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(Statistics, OfNothingAreNothing) {
  EXPECT_EQ(median(Values{}), std::nullopt);
  EXPECT_EQ(decile(Values{}, 9), std::nullopt);
}

TEST(Statistics, DecilesReachFromTheLeastToTheLargest) {
  Values values;
  for (std::int64_t value = 20; value > 0; --value) values.push_back(value);
  EXPECT_EQ(decile(values, 0), 1);
  EXPECT_EQ(decile(values, 1), 2);
  EXPECT_EQ(decile(values, 5), 10);
  EXPECT_EQ(decile(values, 9), 18);
  EXPECT_EQ(decile(values, 10), 20);
}

}  // namespace
}  // namespace turnpike
