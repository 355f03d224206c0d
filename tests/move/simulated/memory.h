// The memory that the simulated driver knows: of its devices, and page-locked memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "simulated/accesses.h"

namespace turnpike::simulated {

inline constexpr int kHost = -1;

struct FreeAligned {
  void operator()(std::byte* bytes) const;
};

struct Block {
  Range range;  // addresses as the program sees them
  int device = kHost;
  std::byte* bytes = nullptr;                       // where they are: no program can follow the address of a device
  std::unique_ptr<std::byte, FreeAligned> backing;  // with guards around it; nullptr: page-locked in place
  int locked_by_device = kHost;                     // the device whose context page-locked it
  bool is_portable = false;                         // page-locked for all contexts
  bool is_the_tests = false;                        // not taken by the code under test: no leak, and not counted

  std::size_t size_bytes() const { return static_cast<std::size_t>(range.end - range.begin); }
};

class Memory {
 public:
  // Fresh memory holds `poison` in every byte.
  Block& add_device(int device, std::size_t size_bytes, std::uint8_t poison);
  Block& add_host(std::size_t size_bytes, std::uint8_t poison);
  Block& add_registered(void* memory, std::size_t size_bytes);
  void remove(const Block& block) { blocks_.erase(block.range.begin); }

  // The block that begins there; nullptr: none.
  Block* starting_at(std::uint64_t address);
  // The block that holds the whole range; nullptr: none does.
  Block* holding(Range range);
  // Any block that shares a byte with the range.
  Block* touching(Range range);
  // Whether the bytes around a block of the host are what they were.
  static bool are_guards_intact(const Block& block);

  const std::map<std::uint64_t, Block>& blocks() const { return blocks_; }

 private:
  Block& add(Block block);

  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t next_offset_ = 1 << 20;
};

}  // namespace turnpike::simulated
