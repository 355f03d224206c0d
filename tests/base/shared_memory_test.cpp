// Memory that is reached through a PID, which may be another process's by now.
#include "base/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace turnpike {
namespace {

std::string path_of(int file) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
}

bool opens(const std::string& path) {
  const int file = open_shared_memory(path.c_str(), kStatusMemory, O_RDWR);
  if (file >= 0) close(file);
  return file >= 0;
}

TEST(SharedMemory, IsOpenedByItsName) {
  const int memory = memfd_create(kStatusMemory, MFD_CLOEXEC);
  EXPECT_TRUE(opens(path_of(memory)));
  close(memory);
  EXPECT_FALSE(opens(path_of(memory)));
}

TEST(SharedMemory, OfAnotherNameIsAStrangers) {
  for (const char* name : {"turnpike-estates", "turnpike-status-2", "turnpike", ""}) {
    const int memory = memfd_create(name, MFD_CLOEXEC);
    EXPECT_FALSE(opens(path_of(memory))) << name;
    close(memory);
  }
}

TEST(SharedMemory, FilesAndPipesOfStrangersAreNotOpened) {
  std::string name = "/tmp/turnpike-status-XXXXXX";
  const int file = mkstemp(name.data());
  EXPECT_FALSE(opens(path_of(file)));
  EXPECT_TRUE(opens(name)) << "a file that is named is meant";
  unlink(name.c_str());
  EXPECT_FALSE(opens(path_of(file))) << "deleted";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(opens(path_of(ends[1])));
  for (const int one : {file, ends[0], ends[1]}) close(one);
}

}  // namespace
}  // namespace turnpike
