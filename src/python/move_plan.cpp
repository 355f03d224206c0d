// See move_plan.h.
#include "python/move_plan.h"

#include <algorithm>

namespace turnpike::python {
namespace {

std::size_t padded(std::size_t bytes) {
  return (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

class Packer {
 public:
  Packer(std::span<const SmallTensor> tensors, std::size_t buffer_bytes)
      : tensors_(tensors), buffer_bytes_(buffer_bytes) {}

  void add_same_shape(const std::vector<std::size_t>& members) {
    bool is_open = false;
    for (const std::size_t member : members) {
      const std::size_t slot_bytes = padded(tensors_[member].size_bytes);
      if (make_room(slot_bytes) || !is_open) open_run(slot_bytes);
      is_open = true;
      place(member, slot_bytes);
    }
  }

  // `members` are ordered by dtype.
  void add_mixed(const std::vector<std::size_t>& members) {
    const SmallTensor* before = nullptr;
    for (const std::size_t member : members) {
      const SmallTensor& tensor = tensors_[member];
      const std::size_t slot_bytes = padded(tensor.size_bytes);
      if (make_room(slot_bytes) || before == nullptr || before->dtype != tensor.dtype) open_run(0);
      place(member, slot_bytes);
      const std::size_t padding_bytes = slot_bytes - tensor.size_bytes;
      if (padding_bytes != 0) {
        plan_.runs.back().contents.push_back(-static_cast<std::int64_t>(padding_bytes / tensor.item_bytes));
      }
      before = &tensor;
    }
  }

  PackedPlan take() { return std::move(plan_); }

 private:
  // Whether a new buffer had to be begun.
  bool make_room(std::size_t bytes) {
    if (!plan_.buffers.empty() && plan_.buffers.back() + bytes <= buffer_bytes_) return false;
    plan_.buffers.push_back(0);
    return true;
  }

  void open_run(std::size_t slot_bytes) {
    plan_.runs.push_back({.buffer = plan_.buffers.size() - 1,
                          .offset_bytes = plan_.buffers.back(),
                          .size_bytes = 0,
                          .slot_bytes = slot_bytes,
                          .contents = {}});
  }

  void place(std::size_t member, std::size_t slot_bytes) {
    plan_.places.push_back(
        {.tensor = member, .buffer = plan_.buffers.size() - 1, .offset_bytes = plan_.buffers.back()});
    plan_.buffers.back() += slot_bytes;
    plan_.runs.back().size_bytes += slot_bytes;
    plan_.runs.back().contents.push_back(tensors_[member].index);
  }

  std::span<const SmallTensor> tensors_;
  std::size_t buffer_bytes_;
  PackedPlan plan_;
};

}  // namespace

PackedPlan plan_packing(std::span<const SmallTensor> tensors, std::size_t buffer_bytes) {
  std::vector<std::vector<std::size_t>> by_shape;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].shape >= by_shape.size()) by_shape.resize(tensors[i].shape + 1);
    by_shape[tensors[i].shape].push_back(i);
  }
  Packer packer(tensors, buffer_bytes);
  std::vector<std::size_t> mixed;
  for (const std::vector<std::size_t>& members : by_shape) {
    if (members.size() >= kSameShape || (!members.empty() && !tensors[members.front()].is_row_major)) {
      packer.add_same_shape(members);
    } else {
      mixed.insert(mixed.end(), members.begin(), members.end());
    }
  }
  std::ranges::stable_sort(mixed, {}, [&](std::size_t member) { return tensors[member].dtype; });
  packer.add_mixed(mixed);
  return packer.take();
}

}  // namespace turnpike::python
