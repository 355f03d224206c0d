// What Linux lets a process say of its pages.
#include "move/fresh_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "move/cores.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace turnpike::move {
namespace {

// Less is faulted in by one thread before a second has started.
constexpr std::size_t kSharedBytes = std::size_t{32} << 20;

void fault_in_here(std::uintptr_t begin, std::uintptr_t end) {
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0) return;
  // An older system. An atomic OR with nothing writes and changes nothing, whoever else writes there meanwhile.
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (std::uintptr_t at = begin; at < end; at += page_bytes) {
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(at), 0, __ATOMIC_RELAXED);
  }
}

}  // namespace

void advise_large_pages(void* memory, std::size_t size_bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kLargePageBytes - 1) & ~(kLargePageBytes - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size_bytes) & ~(kLargePageBytes - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void fault_in(std::uintptr_t begin, std::uintptr_t end, unsigned int threads) {
  if (end - begin < kSharedBytes) threads = 1;
  const std::size_t share =
      ((end - begin) / std::max(1U, threads) + kLargePageBytes) & ~(kLargePageBytes - 1);  // threads share no page
  std::vector<std::thread> others;
  try {
    for (; end - begin > share; begin += share) {
      others.emplace_back([begin, share] {
        use_cores_of_process();
        fault_in_here(begin, begin + share);
      });
    }
  } catch (const std::system_error&) {
    // No more threads: this one does the rest.
  }
  fault_in_here(begin, end);
  for (std::thread& other : others) other.join();
}

}  // namespace turnpike::move
