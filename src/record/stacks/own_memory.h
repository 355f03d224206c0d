// Reads this process's memory through the kernel: what is not there, or is gone meanwhile, is an answer and not a
// fault.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace turnpike::record {

// Whether the kernel lets this process read itself; sandboxes forbid it. Asked of it once.
bool can_read_own_memory() noexcept;

// What was not looked at for that reason: counted by whoever wanted to look, since the process started. Any thread.
void note_forbidden_look() noexcept;
std::uint64_t forbidden_looks() noexcept;

// Copies `size` bytes from `address`. False when not all of them could be read; `to` may then hold some. Any thread;
// errno is left as it was.
bool read_own_memory(std::uintptr_t address, void* to, std::size_t size) noexcept;

// Copies `count` places, `size` bytes together, one behind the other: one system call, of which each place costs 0.1 us
// because its page must be found. `count` <= IOV_MAX.
bool gather_own_memory(const iovec* places, std::size_t count, void* to, std::size_t size) noexcept;

}  // namespace turnpike::record
