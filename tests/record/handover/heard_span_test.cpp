// Work is left out where its call was not heard, and nowhere else.
#include "record/handover/heard_span.h"

#include <gtest/gtest.h>

namespace turnpike::record {
namespace {

bool is_outside(const HeardSpan& span, std::uint32_t correlation, std::uint32_t newest) {
  return span.is_outside(correlation, newest, span.changes());
}

TEST(HeardSpan, BeginsWithTheLowestCallThatIsHeard) {
  HeardSpan span;
  span.restart();
  EXPECT_TRUE(is_outside(span, 5, 0)) << "nothing is heard yet";
  span.open();
  EXPECT_TRUE(is_outside(span, 5, 0)) << "nor now";
  span.note(12);
  span.note(10);
  span.note(11);
  for (const std::uint32_t newest : {0u, 12u}) {
    EXPECT_TRUE(is_outside(span, 9, newest));
    EXPECT_FALSE(is_outside(span, 10, newest));
    EXPECT_FALSE(is_outside(span, 4'000'000'000u, newest));
  }
}

TEST(HeardSpan, EndsWithTheLastCallThatWasTaken) {
  HeardSpan span;
  span.restart();
  span.open();
  span.note(10);
  const std::uint32_t before = span.changes();
  span.close();
  EXPECT_FALSE(span.is_outside(21, 20, before)) << "its call may not be taken yet";
  EXPECT_TRUE(is_outside(span, 21, 20));
  EXPECT_FALSE(is_outside(span, 20, 20));
  EXPECT_FALSE(is_outside(span, 10, 20));
  EXPECT_TRUE(is_outside(span, 5, 0xFFFF'FFF0)) << "ids that came round";
}

TEST(HeardSpan, KeepsTheWorkOfTheSpanBefore) {
  HeardSpan span;
  span.restart();
  span.open();
  span.note(10);
  span.close();
  span.open();
  span.note(30);
  EXPECT_FALSE(is_outside(span, 15, 30));
}

TEST(HeardSpan, KeepsWhatHasNoCorrelation) {
  HeardSpan span;
  span.restart();
  EXPECT_FALSE(is_outside(span, 0, 0));
}

TEST(HeardSpan, HasNoBeginningAnyMoreWhenIdsComeRound) {
  HeardSpan span;
  span.restart();
  span.open();
  span.note(2'000'000);
  EXPECT_TRUE(is_outside(span, 1'999'000, 2'000'000 + 1000));
  EXPECT_FALSE(is_outside(span, 1'999'000, 1'999'500));
  EXPECT_FALSE(is_outside(span, 1'999'000, 200'000'000));
}

TEST(HeardSpan, KeepsEverythingWhereNobodyRecords) {
  const HeardSpan span;
  EXPECT_FALSE(is_outside(span, 5, 0));
}

}  // namespace
}  // namespace turnpike::record
