// What is counted of Turnpike's own time, and that its ticks are nanoseconds.
#include "base/self_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace turnpike {
namespace {

using namespace std::chrono_literals;

TEST(SelfTime, IsOfAllThreads) {
  const SelfTime before = self_time();
  add_self_time(3);
  std::thread([] { add_self_time(4); }).join();
  // More of them than lines.
  for (int thread = 0; thread < 300; ++thread) std::thread([] { add_self_time(1); }).join();
  const SelfTime spent = self_time() - before;
  EXPECT_EQ(spent.count, 302u);
  EXPECT_EQ(spent.ticks, 307u);
}

TEST(SelfTime, OfASpanWithinAnotherCountsOnce) {
  const TickRate rate;
  const SelfTime before = self_time();
  {
    const SelfTimeSpan outer;
    {
      const SelfTimeSpan inner;
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_EQ((self_time() - before).count, 0u);
  }
  const SelfTime spent = self_time() - before;
  EXPECT_EQ(spent.count, 1u);
  EXPECT_GE(rate.ns_of(spent.ticks), 19'900'000u);
}

TEST(SelfTime, IsKnownOfThreadsThatWereInside) {
  std::thread([] {
    EXPECT_FALSE(has_self_time());
    {
      const SelfTimeSpan span;
    }
    EXPECT_TRUE(has_self_time());
  }).join();
}

TEST(TickRate, IsThatOfTheClock) {
  const TickRate rate;
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t start_ticks = ticks_now();
  std::this_thread::sleep_for(50ms);
  const std::uint64_t ticks = ticks_now() - start_ticks;
  const auto passed = std::chrono::steady_clock::now() - start;
  const auto passed_ns = static_cast<double>(std::chrono::nanoseconds(passed).count());
  // Between the reads of one clock and the other the thread may have to wait.
  EXPECT_LE(static_cast<double>(rate.ns_of(ticks)), passed_ns * 1.01);
  EXPECT_GE(static_cast<double>(rate.ns_of(ticks)), 49'900'000.0);
}

}  // namespace
}  // namespace turnpike
