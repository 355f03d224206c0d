// Threads that work, sleep and end.
#include "move/workers.h"

#include <gtest/gtest.h>

namespace turnpike::move {
namespace {

// Threads that sleep until something is left to do, and do it.
class Working : public ::testing::Test {
 protected:
  ~Working() override { end(); }

  void start(std::size_t count) {
    const std::lock_guard lock(mutex_);
    workers_.start(count, [this] { work(); });
  }
  void end() {
    std::unique_lock lock(mutex_);
    auto threads = workers_.dismiss();
    lock.unlock();
    workers_.join(std::move(threads));
    lock.lock();
    workers_.allow();
  }
  void wait_until(const std::function<bool()>& is_so) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, is_so);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Workers workers_;
  int begun_ = 0;
  int ended_ = 0;
  int left_ = 0;
  int done_ = 0;

 private:
  void work() {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    while (!workers_.are_dismissed()) {
      workers_.sleep_until(lock, [this] { return left_ > 0; });
      if (left_ == 0) continue;
      --left_;
      ++done_;
      changed_.notify_all();
    }
    ++ended_;
  }
};

TEST_F(Working, AsManyAreStartedAsAreMissing) {
  start(2);
  start(2);
  EXPECT_EQ(workers_.count(), 2U);
  start(3);
  EXPECT_EQ(workers_.count(), 3U);
  wait_until([this] { return begun_ == 3; });
}

TEST_F(Working, ASleepingThreadIsWokenForWork) {
  start(1);
  wait_until([this] { return begun_ == 1; });
  for (int turn = 1; turn <= 10; ++turn) {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    workers_.wake(1);
    wait_until([&] { return done_ == turn; });
  }
}

TEST_F(Working, AllAreWoken) {
  start(4);
  wait_until([this] { return begun_ == 4; });
  {
    const std::lock_guard lock(mutex_);
    left_ = 4;
  }
  workers_.wake(4);
  wait_until([this] { return done_ == 4; });
}

TEST_F(Working, TheDismissedEndThoughTheySleepAndOthersMayBeStarted) {
  start(3);
  wait_until([this] { return begun_ == 3; });
  end();
  EXPECT_EQ(ended_, 3);
  EXPECT_EQ(workers_.count(), 0U);
  EXPECT_FALSE(workers_.are_dismissed());
  start(1);
  wait_until([this] { return begun_ == 4; });
  EXPECT_EQ(workers_.count(), 1U);
}

// Who waits for a device is woken as well as who waits for work: it passes the call on.
TEST_F(Working, AThreadThatSleepsForAWhilePassesAWakeOn) {
  bool is_asleep = false;
  std::thread first([&] {
    std::unique_lock lock(mutex_);
    is_asleep = true;
    changed_.notify_all();
    workers_.sleep_for(lock, std::chrono::seconds(20));
  });
  wait_until([&] { return is_asleep; });
  start(1);
  wait_until([this] { return begun_ == 1; });
  for (int turn = 1; turn <= 2; ++turn) {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    workers_.wake(1);
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(10), [&] { return done_ == turn; }));
  }
  end();
  first.join();
}

TEST_F(Working, AShortSleepEndsByItself) {
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  workers_.sleep_for(lock, std::chrono::microseconds(200));
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace turnpike::move
