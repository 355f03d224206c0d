// Which steps are pauses.
#include "analyze/model/pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

std::vector<bool> pauses_of(std::size_t count, const std::vector<std::int64_t>& long_ones) {
  std::vector<std::int64_t> steps_ns(count, 100);
  std::copy(long_ones.begin(), long_ones.end(), steps_ns.begin());
  return find_pauses(steps_ns);
}

TEST(Pauses, AreLongerThanThreeMedians) {
  EXPECT_THAT(pauses_of(20, {300}), Each(false));
  const std::vector<bool> is_pause = pauses_of(20, {301});
  EXPECT_TRUE(is_pause[0]);
  EXPECT_EQ(std::count(is_pause.begin(), is_pause.end(), true), 1);
}

TEST(Pauses, AreAtMostOneStepInTen) {
  EXPECT_EQ(pauses_of(20, {900, 900})[1], true);
  EXPECT_THAT(pauses_of(20, {900, 900, 900}), Each(false));
  EXPECT_THAT(pauses_of(9, {900}), Each(false));
}

TEST(Pauses, OfNothingAreNone) {
  EXPECT_THAT(pauses_of(0, {}), IsEmpty());
  EXPECT_THAT(find_pauses(std::vector<std::int64_t>{0, 0, 5}), Each(false));
}

}  // namespace
}  // namespace turnpike::analyze
