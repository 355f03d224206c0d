#include "base/high_number.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace turnpike {
namespace {

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

int under_high_number(int file) noexcept {
  constexpr int kHighNumber = 500;
  struct stat own{};
  if (::fstat(file, &own) != 0) return -1;
  const int high = ::fcntl(file, F_DUPFD_CLOEXEC, kHighNumber);
  if (high < 0) return errno == EBADF ? -1 : file;
  // Another thread may have closed all numbers meanwhile (os.closerange), and have one of these two for a file of its
  // own. What is not ours for certain is not closed.
  struct stat now{};
  if (::fstat(high, &now) != 0 || !is_same(now, own)) {
    errno = EBADF;
    return -1;
  }
  if (::fstat(file, &now) == 0 && is_same(now, own)) ::close(file);
  return high;
}

}  // namespace turnpike
