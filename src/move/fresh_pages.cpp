// Stripes of the memory go to the threads in turn, so that they stay just ahead of the copies.
#include "move/fresh_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace turnpike::move {
namespace {

constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;
constexpr std::size_t kStripeBytes = 2 * kLargePageBytes;
// Below, the pages come as fast by the copies themselves.
constexpr std::size_t kLargeBytes = std::size_t{32} << 20;

struct Stripe {
  std::uintptr_t begin;
  std::uintptr_t end;
};

std::vector<Stripe> stripes_of(std::span<const Piece> pieces) {
  std::vector<Stripe> stripes;
  for (const Piece& piece : pieces) {
    if (piece.is_pinned || piece.size_bytes < kLargeBytes) continue;
    const auto memory = reinterpret_cast<std::uintptr_t>(piece.host);
    const std::uintptr_t end = (memory + piece.size_bytes) & ~(kLargePageBytes - 1);
    for (std::uintptr_t at = (memory + kLargePageBytes - 1) & ~(kLargePageBytes - 1); at < end; at += kStripeBytes) {
      stripes.push_back({at, std::min(at + kStripeBytes, end)});
    }
  }
  return stripes;
}

}  // namespace

void advise_large_pages(void* memory, std::size_t size_bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kLargePageBytes - 1) & ~(kLargePageBytes - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size_bytes) & ~(kLargePageBytes - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void fault_in(std::uintptr_t begin, std::uintptr_t end) {
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0) return;
  // An older system. An atomic OR with nothing writes and changes nothing, whoever else writes there meanwhile.
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (std::uintptr_t at = begin; at < end; at += page_bytes) {
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(at), 0, __ATOMIC_RELAXED);
  }
}

FreshPages::FreshPages(std::span<const Piece> pieces, unsigned int threads) {
  const std::vector<Stripe> stripes = stripes_of(pieces);
  const std::size_t count = std::min<std::size_t>(threads, stripes.size());
  try {
    for (std::size_t first = 0; first < count; ++first) {
      threads_.emplace_back([stripes, first, count] {
        for (std::size_t i = first; i < stripes.size(); i += count) fault_in(stripes[i].begin, stripes[i].end);
      });
    }
  } catch (const std::system_error&) {
    // No more threads: the copies bring in what is left.
  }
}

FreshPages::~FreshPages() {
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace turnpike::move
