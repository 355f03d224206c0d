// One pass over the pieces in the order of their addresses.
#include "move/join.h"

#include <algorithm>

namespace turnpike::move {
namespace {

class Joiner {
 public:
  Joiner(std::size_t block_bytes, const AllocationAt& allocation_at)
      : block_bytes_(block_bytes), allocation_at_(allocation_at) {}

  void add(const Piece& piece) {
    const bool joins = !joined_.empty() && follows(piece);
    if (joins && piece.device != end_) {
      joined_.push_back(
          {.device = end_, .size_bytes = piece.device - end_, .joins_previous = true, .is_padding = true});
    }
    joined_.push_back(piece);
    joined_.back().joins_previous = joins;
    end_ = piece.device + piece.size_bytes;
  }

  std::vector<Piece> take() { return std::move(joined_); }

 private:
  bool follows(const Piece& piece) {
    const Piece& before = joined_.back();
    if (piece.is_pinned || before.is_pinned || piece.device < end_ || piece.device - end_ >= block_bytes_) return false;
    // The gap is the rest of the last block, and not a block of somebody else's.
    if ((end_ + block_bytes_ - 1) / block_bytes_ * block_bytes_ != piece.device) return false;
    if (before.device < allocation_.begin || before.device >= allocation_.end) {
      allocation_ = allocation_at_(before.device);
    }
    return piece.device + piece.size_bytes <= allocation_.end;
  }

  const std::size_t block_bytes_;
  const AllocationAt& allocation_at_;
  std::vector<Piece> joined_;
  DeviceAddress end_ = 0;     // of the last piece
  DeviceRange allocation_{};  // that was asked for last
};

}  // namespace

std::vector<Piece> joined(std::vector<Piece> pieces, std::size_t block_bytes, const AllocationAt& allocation_at) {
  std::ranges::sort(pieces, {}, &Piece::device);
  Joiner joiner(block_bytes, allocation_at);
  for (const Piece& piece : pieces) joiner.add(piece);
  return joiner.take();
}

}  // namespace turnpike::move
