// Pages of memory that nobody has touched yet: the kernel gives and clears each at the first touch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::move {

constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;

// Lets the system give `memory`, which nobody has touched yet, large pages: a fault each 2 MiB instead of each 4 KiB.
void advise_large_pages(void* memory, std::size_t size_bytes);

// Makes every page from `begin` to `end` (both at the borders of pages) present and writable, by up to `threads`
// threads, and leaves the bytes as they are.
void fault_in(std::uintptr_t begin, std::uintptr_t end, unsigned int threads);

}  // namespace turnpike::move
