// Lanes as a page holds them: compressed, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/html/block_packer.h"
#include "report/html/block_store.h"
#include "report/html/contents.h"
#include "report/html/lane.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// Lanes and their blocks, in the order of the numbers of their events. In memory are, of the blocks, only the first few
// MB and those that are being compressed.
class EncodedLanes {
 public:
  EncodedLanes() = default;
  // With the lanes so far; what is added to one is not in the other.
  EncodedLanes(const EncodedLanes& other);
  EncodedLanes& operator=(const EncodedLanes&) = delete;
  ~EncodedLanes() = default;

  // `strings`, here and below: what the names of events count into.
  void add(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix, const Strings& strings);

  // The same piece by piece. `lane`: its events are not looked at. `events`: of one block.
  void begin(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix);
  void add_block(std::span<const Event> events, const Strings& strings);

  const std::vector<LaneEntry>& lanes() const { return lanes_; }
  std::size_t block_count() const { return blocks_.size(); }
  // The text of a block, by id.
  std::string block(std::size_t id) const { return blocks_[id].store->text(blocks_[id].place); }

 private:
  struct Block {
    std::shared_ptr<const BlockStore> store;
    std::size_t place;
  };

  std::vector<LaneEntry> lanes_;
  std::vector<Block> blocks_;
  std::uint64_t planes_bytes_ = 0;  // of all blocks
  std::shared_ptr<BlockStore> store_ = std::make_shared<BlockStore>();
  // Of the last lane, by index into the strings: what its events say instead of the name.
  std::vector<std::uint32_t> name_in_lane_;
  // Copies of these lanes share it.
  std::shared_ptr<BlockPacker> packer_ = std::make_shared<BlockPacker>();
};

}  // namespace turnpike::report::html
