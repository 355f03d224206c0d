// The copies that the processor does: between user memory and the slots of the ring.
#pragma once

#include <cstddef>

#include "move/plan.h"

namespace turnpike::move {

// Brings the bytes from `begin` to `end` of a chunk together in its slot. Bytes of padding stay what they were. Items
// of a layout that begin before `end` are brought whole. `store`: of what is dense.
void gather(const Plan& plan, const Chunk& chunk, std::size_t begin, std::size_t end, Store store, std::byte* slot);
// Hands bytes of a chunk out of its slot. Past the caches: they are not read again soon, and what is there stays.
void scatter(const Plan& plan, const Chunk& chunk, std::size_t begin, std::size_t end, const std::byte* slot);

// How the bytes of a part that is dense are stored.
enum class Way { kThroughCaches, kPastCaches, kAsString };
Way way_in(Store store, const Chunk& chunk, std::size_t size_bytes);  // to a slot
Way way_out(const Plan& plan, std::size_t size_bytes);                // from one

// At least 64 bytes. `is_by_64`: with registers of 64 bytes, which the processor must have; else with those of 16.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size_bytes, bool is_by_64);
bool has_registers_of_64_bytes();

}  // namespace turnpike::move
