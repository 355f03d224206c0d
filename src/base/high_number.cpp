#include "base/high_number.h"

#include <fcntl.h>
#include <unistd.h>

namespace turnpike {

int under_high_number(int file) noexcept {
  constexpr int kHighNumber = 500;
  const int high = ::fcntl(file, F_DUPFD_CLOEXEC, kHighNumber);
  if (high < 0) return file;
  ::close(file);
  return high;
}

}  // namespace turnpike
