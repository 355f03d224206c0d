// The stacks of a process by their numbers. There can be a million of them, with more frames together than anything
// else that is kept: they lie one behind the other, and a stack is found by its number alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace turnpike::trace {

// A view into the table.
struct Stack {
  std::span<const std::uint32_t> frames;  // ids, innermost first. Native frames up to the interpreter, then Python's
  bool is_truncated = false;
};

class StackTable {
 public:
  class Iterator {
   public:
    Iterator(const StackTable& table, std::size_t index) : table_(&table), index_(index) {}
    std::pair<std::uint32_t, Stack> operator*() const {
      return {table_->entries_[index_].id, table_->stack_of(table_->entries_[index_])};
    }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const StackTable* table_;
    std::size_t index_;
  };

  // A later definition replaces an earlier one. Stacks that were looked up stay valid.
  void set(std::uint32_t id, std::span<const std::uint32_t> frames, bool is_truncated = false);

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(std::uint32_t id) const { return index_of(id) != kNothing; }
  // In the order in which they were first defined; not to be used while stacks are added.
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, entries_.size()}; }
  std::optional<Stack> find(std::uint32_t id) const {
    const std::uint32_t index = index_of(id);
    return index == kNothing ? std::nullopt : std::optional(stack_of(entries_[index]));
  }
  // Throws std::out_of_range.
  Stack at(std::uint32_t id) const;

 private:
  static constexpr std::uint32_t kNothing = ~0u;

  struct Entry {
    std::uint32_t id;
    std::uint32_t block;
    std::uint32_t first;  // of its frames in the block
    std::uint32_t count : 31;
    std::uint32_t is_truncated : 1;
  };

  std::uint32_t index_of(std::uint32_t id) const {
    if (id < by_id_.size()) return by_id_[id];
    if (far_.empty()) return kNothing;
    const auto found = far_.find(id);
    return found == far_.end() ? kNothing : found->second;
  }
  Stack stack_of(const Entry& entry) const {
    return {std::span(blocks_[entry.block]).subspan(entry.first, entry.count), entry.is_truncated != 0};
  }
  std::uint32_t& slot_of(std::uint32_t id);

  std::vector<std::vector<std::uint32_t>> blocks_;  // none grows beyond what was reserved: views of it stay valid
  std::vector<Entry> entries_;
  // Recorders number stacks without gaps. What a damaged file numbers far above is not kept by number.
  std::vector<std::uint32_t> by_id_;  // index of the entry, or kNothing
  std::unordered_map<std::uint32_t, std::uint32_t> far_;
};

}  // namespace turnpike::trace
