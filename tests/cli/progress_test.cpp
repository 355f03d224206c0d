// The bar on a terminal, and what a terminal is.
#include "cli/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "cli/message.h"
#include "cli/terminal.h"

namespace turnpike::cli {
namespace {

// A pseudo-terminal in the place of standard error.
class OnTerminal : public testing::Test {
 protected:
  OnTerminal() {
    winsize size{.ws_row = 24, .ws_col = 70, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&ours_, &theirs_, nullptr, nullptr, &size), 0);
    fcntl(ours_, F_SETFL, O_NONBLOCK);
    saved_ = dup(STDERR_FILENO);
    std::fflush(stderr);
    dup2(theirs_, STDERR_FILENO);
  }
  ~OnTerminal() override {
    give_back();
    close(theirs_);
    close(ours_);
  }

  void give_back() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }
  // What was written since it was asked.
  std::string shown() {
    std::fflush(stderr);
    std::string text;
    char piece[4096];
    for (ssize_t got = 0; (got = read(ours_, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(got));
    return text;
  }

  int ours_ = -1;
  int theirs_ = -1;
  int saved_ = -1;
};

TEST_F(OnTerminal, TheBarIsAsLongAsTheShareThatIsDone) {
  {
    ProgressBar bar("reading");
    const auto progress = bar.callback();
    ASSERT_TRUE(progress);
    progress(50, 200);
    EXPECT_EQ(shown(), "") << "it waits for a second";
    std::this_thread::sleep_for(std::chrono::milliseconds(1'050));
    progress(0, 0);
    EXPECT_EQ(shown(), "") << "of nothing there is no share";
    progress(50, 200);
    EXPECT_EQ(shown(), "\rreading [#######                       ]  25 %");
    progress(51, 200);
    EXPECT_EQ(shown(), "") << "the same per cent";
    progress(52, 200);
    EXPECT_EQ(shown(), "\rreading [#######                       ]  26 %");
    progress(200, 200);
    EXPECT_EQ(shown(), "\rreading [##############################] 100 %");
    progress(300, 200);
    EXPECT_EQ(shown(), "");
    progress(0, 200);
    EXPECT_EQ(shown(), "\rreading [                              ]   0 %");
  }
  EXPECT_EQ(shown(), "\r\x1b[K");
}

TEST_F(OnTerminal, WhatWasNotShownIsNotErased) {
  {
    const ProgressBar bar("reading");
  }
  EXPECT_EQ(shown(), "");
}

TEST_F(OnTerminal, ItsWidthCountsUpToTheMost) {
  EXPECT_EQ(usable_width(STDERR_FILENO, 100), 70u);
  EXPECT_EQ(usable_width(STDERR_FILENO, 70), 70u);
  EXPECT_EQ(usable_width(STDERR_FILENO, 69), 69u);
  winsize none{};
  ioctl(theirs_, TIOCSWINSZ, &none);
  EXPECT_EQ(usable_width(STDERR_FILENO, 100), 100u);
  winsize narrow{.ws_row = 24, .ws_col = 1, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(theirs_, TIOCSWINSZ, &narrow);
  EXPECT_EQ(usable_width(STDERR_FILENO, 100), 1u);
}

TEST_F(OnTerminal, HasColourUnlessTheEnvironmentSaysNo) {
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(is_terminal(STDERR_FILENO));
  EXPECT_TRUE(has_colour(STDERR_FILENO));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(has_colour(STDERR_FILENO));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(has_colour(STDERR_FILENO));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(has_colour(STDERR_FILENO));
  unsetenv("TERM");
  EXPECT_TRUE(has_colour(STDERR_FILENO));
}

TEST(NoTerminal, HasNeitherABarNorColourNorAWidth) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(is_terminal(ends[1]));
  EXPECT_FALSE(has_colour(ends[1]));
  EXPECT_EQ(usable_width(ends[1], 100), 100u);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  EXPECT_FALSE(ProgressBar("reading").callback());
  dup2(saved, STDERR_FILENO);
  for (const int descriptor : {saved, ends[0], ends[1]}) close(descriptor);
}

TEST(Message, KeepsItsLinesAndCleansEach) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("one"), "one");
  EXPECT_EQ(printable("a\x1b\nb\n"), "a\\x1b\nb\n");
  EXPECT_EQ(printable("\n\nx"), "\n\nx");
  testing::internal::CaptureStderr();
  say("turnpike", "a\tb\nc");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "turnpike: a\\x09b\nc\n");
}

}  // namespace
}  // namespace turnpike::cli
