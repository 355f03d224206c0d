// Pages of memory that nobody has touched yet: the kernel gives and clears each at the first touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnpike::move {

constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;

// Lets the system give `memory`, which nobody has touched yet, large pages: a fault each 2 MiB instead of each 4 KiB.
void advise_large_pages(void* memory, std::size_t size_bytes);

// Both at the borders of pages.
struct PageRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Makes every page present and writable, by up to `threads` threads, and leaves the bytes as they are.
void fault_in(const PageRange& pages, unsigned int threads);

// What each of these threads brings in: as much as the others, in whole large pages, but for the last. One brings in
// what is little.
std::vector<PageRange> shares_of(const PageRange& pages, unsigned int threads);
// The same as fault_in() by this thread, where the system cannot do it at once.
void touch(const PageRange& pages);

}  // namespace turnpike::move
