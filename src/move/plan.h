// Cuts a transfer's pieces into chunks: each is one copy over the link, through one slot of the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "move/move.h"

namespace turnpike::move {

// A part of a piece within a chunk.
struct Part {
  std::uint32_t piece;
  std::size_t piece_offset;  // bytes, in the dense order of the device
  std::size_t chunk_offset;
  std::size_t size_bytes;
};

struct Chunk {
  DeviceAddress device;
  std::size_t size_bytes;
  std::uint32_t first_part;
  std::uint32_t end_part;
};

struct Plan {
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> direct;  // pieces that need no staging
  std::vector<Part> parts;
  std::vector<Chunk> chunks;
  std::size_t chunk_bytes = 0;  // of a slot: no chunk is larger
  std::size_t bytes = 0;        // of all pieces, without padding
  std::size_t staged_bytes = 0;
  std::size_t packed_pieces = 0;  // that share a chunk with others
};

// Pieces of no bytes are left out. `chunk_bytes` is the size of a slot. The first chunks are small, so that the link
// starts early, and the last ones too, so that what follows the link's end is short.
Plan make_plan(std::span<const Piece> pieces, std::size_t chunk_bytes);

}  // namespace turnpike::move
