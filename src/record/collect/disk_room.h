// How much room the disk of a run has: the last of it is for the program.
#pragma once

#include <cstdint>

namespace turnpike::record {

// Whether less is free than is left to others: 1 GiB, or 5 % of a disk below 20 GiB.
bool is_disk_low(std::uint64_t free_bytes, std::uint64_t disk_bytes) noexcept;

// Of the disk that holds the file. False where nobody can tell.
bool is_disk_low(const char* path) noexcept;

// Whether a write failed because the disk, or what a quota or a limit allows of it, is used up.
bool is_out_of_room(int error) noexcept;

}  // namespace turnpike::record
