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

void fault_in_here(const PageRange& pages) {
  if (madvise(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, MADV_POPULATE_WRITE) == 0) return;
  touch(pages);  // an older system
}

}  // namespace

void advise_large_pages(void* memory, std::size_t size_bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kLargePageBytes - 1) & ~(kLargePageBytes - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size_bytes) & ~(kLargePageBytes - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void touch(const PageRange& pages) {
  // An atomic OR with nothing writes and changes nothing, whoever else writes there meanwhile.
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (std::uintptr_t at = pages.begin; at < pages.end; at += page_bytes) {
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(at), 0, __ATOMIC_RELAXED);
  }
}

std::vector<PageRange> shares_of(const PageRange& pages, unsigned int threads) {
  const std::size_t size_bytes = pages.end - pages.begin;
  if (size_bytes < kSharedBytes) return {pages};
  const std::size_t share = (size_bytes / std::max(1U, threads) + kLargePageBytes) & ~(kLargePageBytes - 1);
  std::vector<PageRange> shares;
  std::uintptr_t begin = pages.begin;
  for (; pages.end - begin > share; begin += share) shares.push_back({begin, begin + share});
  shares.push_back({begin, pages.end});
  return shares;
}

void fault_in(const PageRange& pages, unsigned int threads) {
  PageRange left = pages;
  std::vector<std::thread> others;
  try {
    for (const PageRange& share : shares_of(pages, threads)) {
      if (share.end == pages.end) break;
      others.emplace_back([share] {
        use_cores_of_process();
        fault_in_here(share);
      });
      left.begin = share.end;
    }
  } catch (const std::system_error&) {
    // No more threads: this one does the rest.
  }
  fault_in_here(left);
  for (std::thread& other : others) other.join();
}

}  // namespace turnpike::move
