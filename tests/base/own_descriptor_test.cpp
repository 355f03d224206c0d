// Descriptors of ours, and what a program does to them.
#include "base/own_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace turnpike {
namespace {

bool is_used(int number) {
  return ::fcntl(number, F_GETFD) != -1;
}

TEST(OwnDescriptor, HasAHighNumberThatIsClosedOnExec) {
  const int lowest = ::dup(STDERR_FILENO);
  ::close(lowest);
  OwnDescriptor file = OwnDescriptor::open("/proc/self/status", O_RDONLY);
  const int number = file.number();
  EXPECT_GE(number, 500);
  EXPECT_TRUE(file.is_there());
  EXPECT_EQ(::fcntl(number, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_FALSE(is_used(lowest));
  file.close();
  EXPECT_FALSE(file.is_open());
  EXPECT_FALSE(is_used(number));
}

TEST(OwnDescriptor, IsNoneWhereNothingCanBeOpened) {
  OwnDescriptor none = OwnDescriptor::open("/nowhere/file", O_RDONLY);
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(errno, ENOENT);
  none.close();
}

TEST(OwnDescriptor, WhoseNumberIsTheProgramsNowIsLeftAlone) {
  OwnDescriptor file = OwnDescriptor::open("/proc/self/status", O_RDONLY);
  const int number = file.number();
  const int programs = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(programs, number);
  EXPECT_FALSE(file.is_there());
  file.close();
  EXPECT_TRUE(is_used(number)) << "the program's file";
  ::close(number);
  ::close(programs);
}

TEST(OwnDescriptor, ThatIsClosedBeforeItIsTakenIsNone) {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(file);
  OwnDescriptor taken;
  taken.take(file);
  EXPECT_FALSE(taken.is_open());
}

}  // namespace
}  // namespace turnpike
