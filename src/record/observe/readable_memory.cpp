// Lets the kernel read eight bytes of each page as a set of signals. It reads them before it refuses what it is to do
// with the set: a page that cannot be read is EFAULT, the others are EINVAL, and nothing is changed.
#include "record/observe/readable_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace turnpike::record {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;  // the smallest: where pages are larger, some are asked about twice
constexpr int kNoSuchAction = -1;
constexpr std::size_t kKernelSetBytes = 8;

// The errno of the look at the first eight bytes of a page.
int look_at(std::uintptr_t page) noexcept {
  return syscall(SYS_rt_sigprocmask, kNoSuchAction, page, nullptr, kKernelSetBytes) == 0 ? 0 : errno;
}

// Emulators and sandboxes may refuse the action before they read, or answer something else.
bool tells_them_apart() noexcept {
  void* forbidden = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (forbidden == MAP_FAILED) return false;
  const std::uint64_t readable = 0;
  const bool answer = look_at(reinterpret_cast<std::uintptr_t>(forbidden)) == EFAULT &&
                      look_at(reinterpret_cast<std::uintptr_t>(&readable)) == EINVAL;
  munmap(forbidden, kPageBytes);
  return answer;
}

}  // namespace

bool answers_whether_readable() noexcept {
  static const bool answer = [] {
    const int callers_errno = errno;
    const bool does = tells_them_apart();
    errno = callers_errno;
    return does;
  }();
  return answer;
}

bool is_readable(std::uintptr_t address, std::uint64_t bytes) noexcept {
  const int callers_errno = errno;
  const std::uintptr_t last = (address + bytes - 1) & ~(kPageBytes - 1);
  bool are_all = true;
  for (std::uintptr_t page = address & ~(kPageBytes - 1); are_all && page <= last; page += kPageBytes) {
    are_all = look_at(page) == EINVAL;
  }
  errno = callers_errno;
  return are_all;
}

}  // namespace turnpike::record
