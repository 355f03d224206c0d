// When this process started, beside the clocks.
#include "base/process_start.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace turnpike {
namespace {

TEST(ProcessStart, LiesBetweenTheForkAndTheFirstLook) {
  constexpr std::int64_t kTickNs = 10'000'000;
  const std::int64_t before_ns = realtime_ns();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::int64_t start_ns = process_start_ns();
    ::_exit(start_ns >= before_ns && start_ns <= realtime_ns() + kTickNs ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_LT(process_start_ns(), realtime_ns() + kTickNs);
}

}  // namespace
}  // namespace turnpike
