// Joins small uploads that lie next to each other on the device, so that one copy carries many.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "move/move.h"

namespace turnpike::move {

using AllocationAt = std::function<DeviceRange(DeviceAddress)>;

// The pieces in the order of their places on the device. Those that follow each other within one allocation are joined,
// with padding between them: `block_bytes` is what the allocator rounds sizes up to, so what lies behind a piece, up to
// the next multiple of it, belongs to nobody. Pinned pieces are not joined: the link reads each where it is.
// `allocation_at`: the allocation that holds an address; asked only where two pieces could be joined.
std::vector<Piece> joined(std::vector<Piece> pieces, std::size_t block_bytes, const AllocationAt& allocation_at);

}  // namespace turnpike::move
