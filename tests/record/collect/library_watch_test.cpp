// Libraries that come while a recording runs are found, and nobody waits for the thread that looks for them.
#include "record/collect/library_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace turnpike::record {
namespace {

std::atomic<int> g_looks{0};
std::atomic<bool> g_must_look_hang{false};
std::atomic<int> g_hanging_looks{0};

void count_look() {
  ++g_looks;
  if (!g_must_look_hang) return;
  ++g_hanging_looks;
  while (g_must_look_hang) std::this_thread::yield();
  --g_hanging_looks;
}

bool comes_to(const std::atomic<int>& count, int value) {
  for (int i = 0; i < 3000 && count < value; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return count >= value;
}

class LibraryWatchTest : public testing::Test {
 protected:
  LibraryWatchTest() {
    g_looks = 0;
    watch_.set_look(count_look);
  }
  ~LibraryWatchTest() override {
    watch_.end();
    g_must_look_hang = false;
    while (g_hanging_looks > 0) std::this_thread::yield();
  }
  LibraryWatch watch_;
};

TEST_F(LibraryWatchTest, LooksOnceBeforeItReturns) {
  watch_.start();
  EXPECT_GE(g_looks, 1);
}

TEST_F(LibraryWatchTest, LooksAgain) {
  watch_.start();
  EXPECT_TRUE(comes_to(g_looks, 2));
}

// As it does inside of the loader, when a constructor waits for something.
TEST_F(LibraryWatchTest, IsLeftBehindWhereItHangs) {
  watch_.start();
  g_must_look_hang = true;
  ASSERT_TRUE(comes_to(g_hanging_looks, 1));
  watch_.versions();
  watch_.end();
  EXPECT_EQ(g_hanging_looks, 1);
}

TEST_F(LibraryWatchTest, LooksInTheNextRecordingThoughTheLastOneHangs) {
  watch_.start();
  g_must_look_hang = true;
  ASSERT_TRUE(comes_to(g_hanging_looks, 1));
  watch_.end();
  g_must_look_hang = false;
  const int before = g_looks;
  watch_.start();
  EXPECT_GT(g_looks, before);
}

TEST_F(LibraryWatchTest, KnowsNothingBeforeItsStart) {
  EXPECT_TRUE(watch_.versions().empty());
}

}  // namespace
}  // namespace turnpike::record
