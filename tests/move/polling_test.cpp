// Who may ask a device, and how often.
#include "move/polling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace turnpike::move {
namespace {

// A clock that goes on by a microsecond with each look at it.
std::int64_t g_now_ns = 0;
int g_yields = 0;
std::atomic<std::uint64_t> g_changes{0};
std::int64_t g_change_at_ns = INT64_MAX;

std::int64_t tick() {
  if (g_now_ns >= g_change_at_ns) ++g_changes;
  return std::exchange(g_now_ns, g_now_ns + 1000);
}

class PollingByTheClock : public ::testing::Test {
 protected:
  PollingByTheClock() {
    g_now_ns = 1'000'000;
    g_yields = 0;
    g_changes = 0;
    g_change_at_ns = INT64_MAX;
  }
  bool may_ask() { return polling_.look_out(g_changes, 0).take(); }

  Polling polling_{tick, [] { ++g_yields; }};
};

TEST_F(PollingByTheClock, AQuestionIsDueFourMicrosecondsAfterTheLast) {
  EXPECT_TRUE(may_ask());  // looks at the clock at 1,000 and 1,001 us
  EXPECT_TRUE(may_ask());
  EXPECT_EQ(g_now_ns, 1'006'000) << "asked at 1,005 us, and not before";
  g_now_ns = 1'020'000;
  EXPECT_TRUE(may_ask());
  EXPECT_EQ(g_now_ns, 1'022'000) << "at the first look: that is long ago";
  EXPECT_EQ(g_yields, 0);
}

// Others take the turns: their next one is always ahead of this thread's clock.
TEST_F(PollingByTheClock, AThreadWithoutATurnYieldsItsCoreAfterTwentyMicroseconds) {
  g_now_ns = 9'000'000;
  EXPECT_TRUE(may_ask());
  g_now_ns = 1'000'000;
  EXPECT_FALSE(may_ask());
  EXPECT_EQ(g_now_ns, 1'022'000) << "21 us after it began, not 20";
  EXPECT_EQ(g_yields, 1);
}

TEST_F(PollingByTheClock, AChangeEndsTheLookAtOnce) {
  g_now_ns = 9'000'000;
  EXPECT_TRUE(may_ask());
  g_now_ns = 1'000'000;
  g_change_at_ns = 1'010'000;
  EXPECT_FALSE(may_ask());
  EXPECT_EQ(g_now_ns, 1'011'000);
  EXPECT_EQ(g_yields, 0);
}

TEST(Polling, ATurnIsOneQuestion) {
  Polling::Turn turn;
  EXPECT_TRUE(turn.take());
  EXPECT_FALSE(turn.take());
  EXPECT_FALSE(Polling::Turn(false).take());
}

TEST(Polling, AThreadThatSeesAChangeDoesNotAsk) {
  Polling polling;
  const std::atomic<std::uint64_t> changes{1};
  EXPECT_FALSE(polling.look_out(changes, 0).take());
  EXPECT_TRUE(polling.look_out(changes, 1).take()) << "nothing has changed, and nobody has asked";
}

TEST(Polling, QuestionsAreFourMicrosecondsApart) {
  Polling polling;
  const std::atomic<std::uint64_t> changes{0};
  const auto start = std::chrono::steady_clock::now();
  std::size_t questions = 0;
  while (questions < 100) questions += polling.look_out(changes, 0).take() ? 1 : 0;
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::microseconds(99 * 4));
}

}  // namespace
}  // namespace turnpike::move
