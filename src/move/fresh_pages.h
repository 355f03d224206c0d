// Brings in the pages of memory that nobody has touched yet, ahead of those who write to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "move/move.h"

namespace turnpike::move {

// Lets the system give `memory`, which nobody has touched yet, large pages: a fault each 2 MiB instead of each 4 KiB.
void advise_large_pages(void* memory, std::size_t size_bytes);

// Faults in the pages of large pieces from their beginnings on, by threads of its own, until it is destroyed. The
// kernel clears each page first, at the rate of one core's memory: the threads that copy would wait for that.
class FreshPages {
 public:
  FreshPages(std::span<const Piece> pieces, unsigned int threads);
  ~FreshPages();
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

 private:
  std::vector<std::thread> threads_;
};

// Makes every page from `begin` to `end` (both at the borders of pages) present and writable, and leaves the bytes as
// they are.
void fault_in(std::uintptr_t begin, std::uintptr_t end);

}  // namespace turnpike::move
