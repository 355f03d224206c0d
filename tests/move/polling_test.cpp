// Who may ask a device, and how often.
#include "move/polling.h"

#include <gtest/gtest.h>

#include <chrono>

namespace turnpike::move {
namespace {

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
