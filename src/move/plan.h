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
  bool is_streamed = true;  // of an upload: stored past the caches
};

// How a transfer is cut.
enum class Cut {
  // The first chunks are small, so that the link starts early, and the last ones too, so that what follows the link's
  // end is short.
  kForItself,
  // An upload, while the link works for others before it: chunks are as large as slots, for between two of them it
  // rests, and none is streamed.
  kBehindOthers,
  // A download into memory that nobody has touched. One that is not small is cut at the borders of large pages: the
  // system clears the whole page at its first byte, and threads that fill the same one wait for each other.
  kForFreshPages,
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
  bool is_strided = false;        // items of some pieces are gathered one by one
  Cut cut = Cut::kForItself;
  bool is_fresh = false;  // a download into memory that nobody has touched: its chunks end where large pages do
};

// An Error for pieces that cannot be copied: bytes without memory on the host, and padding where it means nothing.
Status check_pieces(std::span<const Piece> pieces, bool may_have_padding);

// Pieces of no bytes are left out. `chunk_bytes` is the size of a slot.
Plan make_plan(std::span<const Piece> pieces, std::size_t chunk_bytes, Cut cut = Cut::kForItself);

// The part of the chunk in which the byte at an offset of it lies.
std::size_t part_at(const Plan& plan, const Chunk& chunk, std::size_t at);

// Where a thread that carries bytes of a chunk from `begin` on should stop and let others go on.
std::size_t grain_end(const Plan& plan, const Chunk& chunk, std::size_t begin);

}  // namespace turnpike::move
