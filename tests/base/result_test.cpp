// Result and Status hold either side, also for values that can only be moved and for values that look like errors.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace turnpike {
namespace {

TEST(Result, HoldsValue) {
  Result<int> result = 7;
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 7);
  *result = 8;
  EXPECT_EQ(result.value(), 8);
}

TEST(Result, HoldsError) {
  const Result<int> result = Error{"no such file"};
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "no such file");
}

TEST(Result, KeepsFalsyValueApartFromError) {
  const Result<int> zero = 0;
  EXPECT_TRUE(zero.has_value());
}

TEST(Result, MovesValueOut) {
  Result<std::unique_ptr<std::string>> result = std::make_unique<std::string>("moved");
  const std::unique_ptr<std::string> taken = std::move(*result);
  EXPECT_EQ(*taken, "moved");
}

TEST(Result, ReachesMembersOfValue) {
  Result<std::string> result = std::string("four");
  EXPECT_EQ(result->size(), 4u);
}

TEST(Status, IsOkUnlessGivenError) {
  EXPECT_TRUE(Status().is_ok());
  const Status failed = Error{"disk full"};
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "disk full");
}

}  // namespace
}  // namespace turnpike
