#include "base/own_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/high_number.h"
#include "base/shared_memory.h"

namespace turnpike {

OwnDescriptor OwnDescriptor::open(const char* path, int flags, mode_t mode) noexcept {
  OwnDescriptor made;
  const int file = ::open(path, flags | O_CLOEXEC, mode);
  if (file >= 0) made.take(file);
  return made;
}

OwnDescriptor OwnDescriptor::open_shared(const char* path, const char* name, int flags) noexcept {
  OwnDescriptor made;
  const int file = open_shared_memory(path, name, flags);
  if (file >= 0) made.take(file);
  return made;
}

void OwnDescriptor::take(int file) noexcept {
  struct stat about{};
  ::fstat(file, &about);
  number_ = under_high_number(file);
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

bool OwnDescriptor::is_there() const noexcept {
  struct stat about{};
  return number_ >= 0 && ::fstat(number_, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

void OwnDescriptor::close() noexcept {
  if (is_there()) ::close(number_);
  number_ = -1;
}

}  // namespace turnpike
