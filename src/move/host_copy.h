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

}  // namespace turnpike::move
