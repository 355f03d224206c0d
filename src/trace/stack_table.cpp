// Blocks of frames, and the numbers of stacks that are dense.
#include "trace/stack_table.h"

#include <algorithm>
#include <stdexcept>

namespace turnpike::trace {
namespace {

constexpr std::size_t kBlockFrames = std::size_t{1} << 16;
constexpr std::size_t kFewStacks = 1024;

}  // namespace

void StackTable::set(std::uint32_t id, std::span<const std::uint32_t> frames, bool is_truncated) {
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < frames.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockFrames, frames.size()));
  }
  std::vector<std::uint32_t>& block = blocks_.back();
  const Entry entry{.id = id,
                    .block = static_cast<std::uint32_t>(blocks_.size() - 1),
                    .first = static_cast<std::uint32_t>(block.size()),
                    .count = static_cast<std::uint32_t>(frames.size()) & 0x7fffffffu,
                    .is_truncated = is_truncated ? 1u : 0u};
  block.insert(block.end(), frames.begin(), frames.end());
  std::uint32_t& slot = slot_of(id);
  if (slot == kNothing) {
    slot = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
  } else {
    entries_[slot] = entry;
  }
}

Stack StackTable::at(std::uint32_t id) const {
  const std::uint32_t index = index_of(id);
  if (index == kNothing) throw std::out_of_range("no such stack");
  return stack_of(entries_[index]);
}

std::uint32_t& StackTable::slot_of(std::uint32_t id) {
  if (id < by_id_.size()) return by_id_[id];
  const std::size_t dense = 2 * entries_.size() + kFewStacks;
  if (id >= dense) return far_.try_emplace(id, kNothing).first->second;
  by_id_.resize(dense, kNothing);
  std::erase_if(far_, [this](const auto& entry) {
    if (entry.first >= by_id_.size()) return false;
    by_id_[entry.first] = entry.second;
    return true;
  });
  return by_id_[id];
}

}  // namespace turnpike::trace
