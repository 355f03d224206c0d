// A forked child finds every mutex free, whoever held it.
#include "base/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

namespace turnpike {
namespace {

// What a forked child returns, which has ten seconds.
template <typename Child>
int exit_code_of(Child child) {
  const pid_t forked = fork();
  if (forked == 0) {
    alarm(10);
    _exit(child());
  }
  int status = 0;
  waitpid(forked, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Holds a mutex in another thread.
class Holder {
 public:
  explicit Holder(ForkMutex& mutex)
      : thread_([&] {
          const std::lock_guard lock(mutex);
          is_held_ = true;
          while (!may_end_) std::this_thread::yield();
        }) {
    while (!is_held_) std::this_thread::yield();
  }
  ~Holder() {
    may_end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_held_{false};
  std::atomic<bool> may_end_{false};
  std::thread thread_;
};

TEST(ForkMutex, ThatIsHeldForLongIsFreshInTheChild) {
  ForkMutex held(ForkMutex::Held::kForLong), other(ForkMutex::Held::kForLong);
  const Holder holder(held);
  EXPECT_EQ(exit_code_of([&] {
              const std::scoped_lock lock(held, other);
              return held.was_left() && !other.was_left() ? 7 : 8;
            }),
            7);
  EXPECT_FALSE(held.was_left()) << "it is held here";
  EXPECT_FALSE(held.try_lock());
}

// Both numbers change under the mutex, and are equal whenever nobody holds it.
TEST(ForkMutex, ThatIsHeldBrieflyProtectsWholeDataInTheChild) {
  ForkMutex inner;
  auto outer = std::make_unique<ForkMutex>();
  volatile int first = 0, second = 0;
  std::atomic<bool> is_over{false};
  std::thread busy([&] {
    while (!is_over) {
      const std::lock_guard lock(*outer);
      const std::lock_guard inside(inner);
      first = first + 1;
      for (int i = 0; i < 100; ++i) asm volatile("");
      second = second + 1;
    }
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(exit_code_of([&] {
                const std::lock_guard lock(*outer);
                const std::lock_guard inside(inner);
                return first == second ? 7 : 8;
              }),
              7);
  }
  is_over = true;
  busy.join();
  outer.reset();
  EXPECT_EQ(exit_code_of([&] {
              const std::lock_guard lock(inner);
              return 7;
            }),
            7)
      << "with one that is gone";
}

std::atomic<int> g_steps{0};

TEST(ForkMutex, StepsAreTakenOnBothSides) {
  static constexpr ForkSteps kSteps{[] { g_steps += 1; }, [] { g_steps += 10; }, [] { g_steps += 100; }};
  set_fork_steps(kSteps);
  EXPECT_EQ(exit_code_of([] { return g_steps.load(); }), 101);
  EXPECT_EQ(g_steps, 11);
  static constexpr ForkSteps kNone{[] {}, [] {}, [] {}};
  set_fork_steps(kNone);
}

}  // namespace
}  // namespace turnpike
