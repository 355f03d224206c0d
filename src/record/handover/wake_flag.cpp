// Waits in the kernel for a word of memory, without the mutex of a condition variable.
#include "record/handover/wake_flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "base/clock.h"

namespace turnpike::record {

void WakeFlag::set() noexcept {
  if (word_.exchange(1, std::memory_order_acq_rel) == 0) syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool WakeFlag::wait(std::int64_t timeout_ns) noexcept {
  const std::int64_t end_ns = monotonic_ns() + timeout_ns;
  for (std::int64_t left_ns = timeout_ns; !is_set() && left_ns > 0; left_ns = end_ns - monotonic_ns()) {
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, &left);
  }
  return is_set();
}

}  // namespace turnpike::record
