// Work is written with its call, and where nobody heard its call it is left out.
#include "record/collect/work_of_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::record {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kFar = 1'000'000;

class WorkOfCallsTest : public testing::Test {
 protected:
  void keep(std::uint32_t correlation) {
    auto copy = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
    copy.correlation = correlation;
    work_.keep(copy);
  }
  // What is written at that time.
  std::vector<std::uint32_t> released(std::int64_t now_ns) {
    work_.release(now_ns, batch_);
    return written();
  }
  std::vector<std::uint32_t> written() {
    std::vector<std::uint32_t> correlations;
    const auto bytes = batch_.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(trace::MemcpyRecord)) {
      trace::MemcpyRecord copy;
      std::memcpy(&copy, bytes.data() + at, sizeof copy);
      correlations.push_back(copy.correlation);
    }
    batch_.clear();
    return correlations;
  }

  WorkOfCalls work_;
  RecordBatch batch_;
};

TEST_F(WorkOfCallsTest, IsWrittenOnceItsCallWasTaken) {
  work_.begin_span();
  work_.note_call(10);
  EXPECT_TRUE(work_.has(10));
  EXPECT_FALSE(work_.has(11));
  keep(11);
  keep(12);
  EXPECT_THAT(released(1), ElementsAre());
  work_.note_call(12);
  EXPECT_THAT(released(2), ElementsAre(12u));
  work_.note_call(11);
  EXPECT_THAT(released(60 * kSecond), ElementsAre(11u)) << "a call may wait for long";
  EXPECT_THAT(released(61 * kSecond), ElementsAre());
}

TEST_F(WorkOfCallsTest, IsWrittenWithoutItsCallWhenThatIsUnknown) {
  work_.begin_span();
  work_.note_call(10);
  keep(kFar);
  EXPECT_THAT(released(kSecond), ElementsAre());
  EXPECT_THAT(released(3 * kSecond - 1), ElementsAre());
  EXPECT_THAT(released(3 * kSecond), ElementsAre(kFar));
}

TEST_F(WorkOfCallsTest, IsLeftOutWhereCallsBegunToBeHeard) {
  work_.begin_span();
  keep(kFar);
  EXPECT_THAT(released(0), ElementsAre());
  EXPECT_THAT(released(2 * kSecond), ElementsAre()) << "none was heard yet";
  work_.note_call(kFar);
  keep(kFar - 3);
  keep(kFar + 3);
  EXPECT_THAT(released(3 * kSecond), ElementsAre());
  EXPECT_THAT(released(5 * kSecond), ElementsAre());
  work_.note_call(kFar + 3);
  EXPECT_THAT(released(6 * kSecond), ElementsAre()) << "it is gone";
}

// A machine was busy for so long between the moments when the device's records and the calls began to be on.
TEST_F(WorkOfCallsTest, IsLeftOutHoweverLongBeforeCallsBegunToBeHeard) {
  work_.begin_span();
  work_.note_call(kFar);
  for (std::uint32_t i = 1; i < kFar; i += 10) keep(i);
  EXPECT_THAT(released(0), ElementsAre()) << "more than may wait";
  EXPECT_THAT(released(2 * kSecond), ElementsAre());
  // Where ids have come round.
  work_.end_span();
  work_.begin_span();
  work_.note_call(5);
  keep(0u - kFar);
  EXPECT_THAT(released(3 * kSecond), ElementsAre());
  EXPECT_THAT(released(5 * kSecond), ElementsAre());
}

TEST_F(WorkOfCallsTest, IsLeftOutWhileNoCallIsHeard) {
  work_.begin_span();
  work_.note_call(10);
  work_.end_span();
  keep(kFar);
  keep(11);
  EXPECT_THAT(released(0), ElementsAre());
  work_.note_call(11);
  EXPECT_THAT(released(2 * kSecond), ElementsAre(11u)) << "its call came after all";
  EXPECT_THAT(released(4 * kSecond), ElementsAre());
}

TEST_F(WorkOfCallsTest, OfASecondSpanBeginsAnew) {
  work_.begin_span();
  work_.note_call(10);
  work_.end_span();
  work_.begin_span();
  work_.note_call(kFar);
  keep(kFar - 1);
  EXPECT_THAT(released(0), ElementsAre());
  EXPECT_THAT(released(2 * kSecond), ElementsAre());
  EXPECT_TRUE(work_.has(10)) << "work of the first may still come";
}

TEST_F(WorkOfCallsTest, IsLeftOutAtTheEndWithoutItsCall) {
  work_.begin_span();
  work_.note_call(10);
  keep(10);
  keep(kFar);
  work_.release_last(batch_);
  EXPECT_THAT(written(), ElementsAre(10u));
  EXPECT_THAT(released(60 * kSecond), ElementsAre());
}

TEST_F(WorkOfCallsTest, IsWrittenWhereCallsWereLost) {
  work_.begin_span();
  work_.note_call(10);
  work_.note_lost_calls();
  keep(11);
  EXPECT_THAT(released(0), ElementsAre()) << "its call may still come";
  keep(12);
  work_.release_last(batch_);
  EXPECT_THAT(written(), ElementsAre(11u, 12u));
}

TEST_F(WorkOfCallsTest, WaitsInBoundedMemory) {
  work_.begin_span();
  work_.note_call(1);
  for (std::uint32_t i = 0; i < 16'386; ++i) keep(kFar + i);
  EXPECT_THAT(released(0), ElementsAre(kFar, kFar + 1)) << "the oldest";
}

}  // namespace
}  // namespace turnpike::record
