// Reads this process's memory through the kernel: what is not there, or is gone meanwhile, is an answer and not a
// fault.
#include "record/stacks/own_memory.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace turnpike::record {
namespace {

std::atomic<std::uint64_t> g_forbidden_looks{0};

}  // namespace

bool can_read_own_memory() noexcept {
  static const bool answer = [] {
    char from = 1;
    char to = 0;
    return read_own_memory(reinterpret_cast<std::uintptr_t>(&from), &to, 1);
  }();
  return answer;
}

void note_forbidden_look() noexcept {
  g_forbidden_looks.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t forbidden_looks() noexcept {
  return g_forbidden_looks.load(std::memory_order_relaxed);
}

bool read_own_memory(std::uintptr_t address, void* to, std::size_t size) noexcept {
  const iovec place{reinterpret_cast<void*>(address), size};
  return gather_own_memory(&place, 1, to, size);
}

bool gather_own_memory(const iovec* places, std::size_t count, void* to, std::size_t size) noexcept {
  const int callers_errno = errno;
  const iovec local{to, size};
  const ssize_t read = process_vm_readv(getpid(), &local, 1, places, count, 0);
  errno = callers_errno;
  return read == static_cast<ssize_t>(size);
}

}  // namespace turnpike::record
