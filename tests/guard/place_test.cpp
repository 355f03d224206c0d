// The places that threads share.
#include "guard/place.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "guard/log_table.h"
#include "guard/prepared_rules.h"
#include "guard/scope.h"
#include "guard/threads.h"

namespace turnpike::guard {
namespace {

// One that no thread has had lately is looked for among those that are known, with their lock.
bool finds_place() {
  std::uintptr_t evaluator = 0;
  return PlacesLately().find(evaluator, false).place != nullptr;
}

TEST(PlacesLately, FindPlacesInAForkedChildWhateverOtherThreadsDid) {
  LogTable log;
  const std::uint64_t block = enter(std::make_shared<Scope>(*prepare_rules("d2h=log"), log));  // handles forks
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over.load(std::memory_order_relaxed)) finds_place();
  });
  int status = 0;
  for (int i = 0; i < 200 && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      _exit(finds_place() ? 0 : 1);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  is_over = true;
  other.join();
  leave(block);
  EXPECT_EQ(status, 0) << "SIGALRM (14): it hung";
}

}  // namespace
}  // namespace turnpike::guard
