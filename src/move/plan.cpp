// The cutting: pieces that follow each other on the device go into one chunk as long as there is room.
#include "move/plan.h"

#include <algorithm>
#include <string>

#include "move/fresh_pages.h"

namespace turnpike::move {
namespace {

// Small, because until it is staged the link has nothing to do; each copy costs some 3 us to start (H100), as much as
// 150 KiB take to cross.
constexpr std::size_t kFirstChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kLastChunkBytes = std::size_t{1} << 20;
// A transfer that is not large is cut into so many at least: while the first is staged, and the last handed out, the
// link does nothing for it.
constexpr std::size_t kMiddleChunks = 32;
constexpr std::size_t kPageBytes = 4096;
// What a thread takes of a chunk at a time: small enough that all share the first one.
constexpr std::size_t kGrainBytes = std::size_t{512} << 10;
// The link reads the caches of single cores at two thirds of its rate, the memory and the cache that all cores share at
// its full rate. So the first bytes are stored past the caches. After these the link lags so far behind the threads
// that plain stores have fallen into the shared cache when it comes, and spare the memory two of three ways. Where
// that is was measured: sooner in large uploads.
constexpr std::size_t kStreamedBytes = std::size_t{64} << 20;
constexpr std::size_t kLargeBytes = std::size_t{128} << 20;
constexpr std::size_t kStreamedOfLargeBytes = std::size_t{16} << 20;
// A download of less is not cut at large pages: too few threads would share it.
constexpr std::size_t kCutAtPagesBytes = std::size_t{8} << 20;

// While threads clear the pages of one chunk the link brings the next: 64 MiB come at 21 GB/s in chunks of 2 MiB, at 16
// in chunks of 4 MiB (H100).
constexpr std::size_t kFreshChunkBytes = kLargePageBytes;

// How far behind the last border of a large page this is.
std::size_t behind_border(const void* host, std::size_t offset_bytes) {
  return (reinterpret_cast<std::uintptr_t>(host) + offset_bytes) % kLargePageBytes;
}

class Cutter {
 public:
  Cutter(Plan& plan, std::size_t slot_bytes, Cut cut)
      : plan_(plan),
        streamed_bytes_(streamed_bytes(plan, cut)),
        last_bytes_(least_bytes(plan, slot_bytes, cut, kLastChunkBytes)),
        most_bytes_(std::min(slot_bytes, std::max(plan.staged_bytes / kMiddleChunks, last_bytes_))),
        next_bytes_(least_bytes(plan, slot_bytes, cut, kFirstChunkBytes)),
        left_bytes_(plan.staged_bytes) {}

  void add(std::uint32_t index) {
    const Piece& piece = plan_.pieces[index];
    std::size_t offset = 0;
    while (offset < piece.size_bytes) {
      const std::size_t left = piece.size_bytes - offset;
      if (!follows(piece.device + offset) || (offset == 0 && !piece.joins_previous)) open(piece.device + offset);
      std::size_t size = std::min(left, room());
      // Items of a layout are not torn: a part is gathered item by item.
      if (piece.layout != nullptr && size < left) size -= size % piece.layout->item_bytes;
      if (size == 0) {
        open(piece.device + offset);
        continue;
      }
      const bool ends_at_border = plan_.is_fresh && size < left && shorten_to_border(piece, offset, size);
      append(index, offset, size);
      if (ends_at_border) limit_ = plan_.chunks.back().size_bytes;
      offset += size;
    }
  }

 private:
  static std::size_t streamed_bytes(const Plan& plan, Cut cut) {
    if (cut == Cut::kBehindOthers) return 0;
    return plan.staged_bytes < kLargeBytes ? kStreamedBytes : kStreamedOfLargeBytes;
  }
  static std::size_t least_bytes(const Plan& plan, std::size_t slot_bytes, Cut cut, std::size_t usual) {
    if (cut == Cut::kBehindOthers) return slot_bytes;
    return plan.is_fresh ? kLargePageBytes : usual;
  }
  bool follows(DeviceAddress address) const {
    if (plan_.chunks.empty()) return false;
    const Chunk& chunk = plan_.chunks.back();
    return chunk.device + chunk.size_bytes == address && room() > 0;
  }
  // False where no border is as near.
  static bool shorten_to_border(const Piece& piece, std::size_t offset, std::size_t& size) {
    const std::size_t behind = behind_border(piece.host, offset + size);
    if (piece.is_padding || behind >= size) return false;
    size -= behind;
    return true;
  }
  std::size_t room() const { return limit_ - plan_.chunks.back().size_bytes; }
  // Grows from chunk to chunk by half, so that one is staged while the one before it crosses; and halves to the end.
  std::size_t next_limit() {
    const std::size_t half = left_bytes_ / 2;
    const std::size_t limit = std::min({most_bytes_, next_bytes_, std::max(half, last_bytes_)});
    next_bytes_ = std::min(next_bytes_ + next_bytes_ / 2, most_bytes_);
    return limit < kPageBytes ? limit : limit & ~(kPageBytes - 1);
  }
  void open(DeviceAddress address) {
    limit_ = next_limit();
    const auto next = static_cast<std::uint32_t>(plan_.parts.size());
    plan_.chunks.push_back({address, 0, next, next, plan_.staged_bytes - left_bytes_ < streamed_bytes_});
  }
  void append(std::uint32_t index, std::size_t offset, std::size_t size) {
    Chunk& chunk = plan_.chunks.back();
    plan_.parts.push_back({index, offset, chunk.size_bytes, size});
    chunk.size_bytes += size;
    left_bytes_ -= std::min(left_bytes_, size);
    ++chunk.end_part;
  }

  Plan& plan_;
  const std::size_t streamed_bytes_;
  const std::size_t last_bytes_;
  const std::size_t most_bytes_;
  std::size_t next_bytes_;
  std::size_t left_bytes_;
  std::size_t limit_ = 0;  // of the chunk that is being filled
};

}  // namespace

Status check_pieces(std::span<const Piece> pieces, bool may_have_padding) {
  for (const Piece& piece : pieces) {
    if (piece.is_padding && !may_have_padding) return Error{"only an upload can have padding between its pieces"};
    if (piece.size_bytes > 0 && piece.host == nullptr && !piece.is_padding) {
      return Error{"a piece of " + std::to_string(piece.size_bytes) +
                   " bytes has no memory on the host: its storage was freed, or never filled"};
    }
  }
  return {};
}

Plan make_plan(std::span<const Piece> pieces, std::size_t chunk_bytes, Cut cut) {
  Plan plan;
  plan.chunk_bytes = chunk_bytes;
  plan.cut = cut;
  plan.pieces.assign(pieces.begin(), pieces.end());
  std::vector<std::uint32_t> staged;
  for (std::uint32_t index = 0; index < plan.pieces.size(); ++index) {
    const Piece& piece = plan.pieces[index];
    if (piece.size_bytes == 0) continue;
    if (!piece.is_padding) plan.bytes += piece.size_bytes;
    if (piece.is_pinned && piece.layout == nullptr && !piece.is_padding) {
      plan.direct.push_back(index);
    } else {
      staged.push_back(index);
      if (!piece.is_padding) plan.staged_bytes += piece.size_bytes;
      plan.is_strided = plan.is_strided || piece.layout != nullptr;
    }
  }
  plan.is_fresh = cut == Cut::kForFreshPages && plan.staged_bytes >= kCutAtPagesBytes;
  Cutter cutter(plan, plan.is_fresh ? std::min(chunk_bytes, kFreshChunkBytes) : chunk_bytes, cut);
  for (const std::uint32_t index : staged) cutter.add(index);
  for (const Chunk& chunk : plan.chunks) {
    const std::size_t parts = chunk.end_part - chunk.first_part;
    if (parts > 1) plan.packed_pieces += parts;
  }
  return plan;
}

std::size_t part_at(const Plan& plan, const Chunk& chunk, std::size_t at) {
  const auto ends_before = [at](const Part& part) { return part.chunk_offset + part.size_bytes <= at; };
  const auto first = plan.parts.begin() + chunk.first_part;
  return static_cast<std::size_t>(std::partition_point(first, plan.parts.begin() + chunk.end_part, ends_before) -
                                  plan.parts.begin());
}

std::size_t grain_end(const Plan& plan, const Chunk& chunk, std::size_t begin) {
  std::size_t end = begin + kGrainBytes;
  if (plan.is_fresh) {
    const Part& part = plan.parts[part_at(plan, chunk, begin)];
    const Piece& piece = plan.pieces[part.piece];
    const std::size_t part_end = part.chunk_offset + part.size_bytes;
    if (part_end > end) {
      end = std::min(
          part_end, begin + kLargePageBytes - behind_border(piece.host, part.piece_offset + begin - part.chunk_offset));
    }
  }
  return std::min(end, chunk.size_bytes);
}

}  // namespace turnpike::move
