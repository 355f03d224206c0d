// The signal that keeps a recording is taken where nobody has it, and given back.
#include "record/keep_signal.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

namespace turnpike::record {
namespace {

int g_keeps = 0;

class KeepSignalTest : public testing::Test {
 protected:
  KeepSignalTest() {
    g_keeps = 0;
    signal(SIGUSR2, SIG_DFL);
  }
  ~KeepSignalTest() override {
    give_keep_signal_back();
    signal(SIGUSR2, SIG_DFL);
  }
  static KeepSignalState take() {
    return take_keep_signal(SIGUSR2, [] {
      ++g_keeps;
      errno = EIO;
    });
  }
  static struct sigaction current() {
    struct sigaction now{};
    sigaction(SIGUSR2, nullptr, &now);
    return now;
  }
};

TEST_F(KeepSignalTest, KeepsEachTimeAndDisturbsNothing) {
  ASSERT_EQ(take(), KeepSignalState::kTaken);
  const struct sigaction taken = current();
  EXPECT_NE(taken.sa_flags & SA_RESTART, 0) << "calls that wait go on";
  EXPECT_EQ(sigismember(&taken.sa_mask, SIGTERM), 0);
  errno = EAGAIN;
  raise(SIGUSR2);
  EXPECT_EQ(errno, EAGAIN) << "the program's own";
  raise(SIGUSR2);
  EXPECT_EQ(g_keeps, 2);
}

TEST_F(KeepSignalTest, IsGivenBackOnce) {
  ASSERT_EQ(take(), KeepSignalState::kTaken);
  give_keep_signal_back();
  EXPECT_EQ(current().sa_handler, SIG_DFL);
  signal(SIGUSR2, SIG_IGN);
  give_keep_signal_back();
  EXPECT_EQ(current().sa_handler, SIG_IGN) << "no longer ours to give";
}

TEST_F(KeepSignalTest, IsTheProgramsWhereItUsesIt) {
  signal(SIGUSR2, SIG_IGN);
  EXPECT_EQ(take(), KeepSignalState::kProgramHasIt);
  EXPECT_EQ(current().sa_handler, SIG_IGN);
  struct sigaction programs{};
  programs.sa_flags = SA_SIGINFO;
  programs.sa_sigaction = [](int, siginfo_t*, void*) { g_keeps += 100; };
  sigaction(SIGUSR2, &programs, nullptr);
  EXPECT_EQ(take(), KeepSignalState::kProgramHasIt);
  raise(SIGUSR2);
  EXPECT_EQ(g_keeps, 100);
}

TEST_F(KeepSignalTest, StaysWithAProgramThatTookItLater) {
  ASSERT_EQ(take(), KeepSignalState::kTaken);
  signal(SIGUSR2, SIG_IGN);
  give_keep_signal_back();
  EXPECT_EQ(current().sa_handler, SIG_IGN);
}

TEST_F(KeepSignalTest, CannotBeWhatIsNoneOrMayNotBeTaken) {
  EXPECT_EQ(take_keep_signal(0, [] {}), KeepSignalState::kFailed);
  EXPECT_EQ(take_keep_signal(SIGKILL, [] {}), KeepSignalState::kFailed);
}

}  // namespace
}  // namespace turnpike::record
