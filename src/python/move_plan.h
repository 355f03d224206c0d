// Plans how small tensors share device buffers: pure arithmetic over sizes, without tensors, Python or a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace turnpike::python {

// Larger ones are not packed: a view keeps its whole buffer alive, and a copy of this size nearly has the link's rate.
constexpr std::size_t kPackedTensorBytes = std::size_t{256} << 10;
// Bounds what one small tensor that is kept can hold.
constexpr std::size_t kPackedBufferBytes = std::size_t{16} << 20;
// What vectorised kernels ask for.
constexpr std::size_t kPackedAlignment = 16;
// From so many tensors of the same shape on, one view that is taken apart is faster than one view for each.
constexpr std::size_t kSameShape = 4;

// What a tensor of so many bytes takes in a buffer.
constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

struct SmallTensor {
  std::int64_t index = 0;  // in the list that was asked about
  std::size_t size_bytes = 0;
  std::uint32_t item_bytes = 1;
  std::uint32_t shape = 0;  // equal for tensors of the same dtype, sizes and strides; counted from 0 without gaps
  std::uint64_t dtype = 0;  // equal for the same dtype
  bool is_row_major = true;
};

// Where a tensor's bytes go.
struct PackedPlace {
  std::size_t tensor = 0;  // in the span
  std::size_t buffer = 0;
  std::size_t offset_bytes = 0;
};

// A stretch of a buffer with tensors of one dtype, whose views are made by one call.
struct PackedRun {
  std::size_t buffer = 0;
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  std::size_t slot_bytes = 0;          // all of one shape, so far apart; 0: of any row-major shapes, one after another
  std::vector<std::int64_t> contents;  // indices of tensors; without a slot, -n stands for n items of padding
};

struct PackedPlan {
  std::vector<std::size_t> buffers;  // sizes in bytes
  std::vector<PackedRun> runs;
  std::vector<PackedPlace> places;
};

// `tensors` have at least one byte and at most `buffer_bytes` each.
PackedPlan plan_packing(std::span<const SmallTensor> tensors, std::size_t buffer_bytes = kPackedBufferBytes);

}  // namespace turnpike::python
