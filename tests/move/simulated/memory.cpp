// Takes memory from the heap, with guards around what the host can write, and finds it by address.
#include "simulated/memory.h"

#include <cstdlib>
#include <cstring>

namespace turnpike::simulated {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kGuardBytes = 256;
constexpr int kGuard = 0xA5;
constexpr std::uint64_t kGapBytes = 4096;    // between blocks of a device, so that no overrun hits the next one
constexpr std::uint64_t kDeviceBase = 0xD0;  // the uppermost bits: no address of the host has them

// At least one byte, so that every block has an address of its own.
std::size_t at_least_one(std::size_t size_bytes) {
  return size_bytes == 0 ? 1 : size_bytes;
}

std::unique_ptr<std::byte, FreeAligned> take(std::size_t size_bytes) {
  const std::size_t rounded = (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return std::unique_ptr<std::byte, FreeAligned>(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, rounded)));
}

bool is_guard(const std::byte* bytes) {
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (bytes[i] != static_cast<std::byte>(kGuard)) return false;
  }
  return true;
}

}  // namespace

void FreeAligned::operator()(std::byte* bytes) const {
  std::free(bytes);
}

Block& Memory::add(Block block) {
  const std::uint64_t begin = block.range.begin;
  return blocks_.insert_or_assign(begin, std::move(block)).first->second;
}

Block& Memory::add_device(int device, std::size_t size_bytes, std::uint8_t poison) {
  size_bytes = at_least_one(size_bytes);
  Block block;
  block.device = device;
  block.backing = take(size_bytes);
  block.bytes = block.backing.get();
  std::memset(block.bytes, poison, size_bytes);
  block.range.begin = ((kDeviceBase + static_cast<std::uint64_t>(device)) << 48) + next_offset_;
  block.range.end = block.range.begin + size_bytes;
  next_offset_ += (size_bytes + kGapBytes + 511) / 512 * 512;
  return add(std::move(block));
}

Block& Memory::add_host(std::size_t size_bytes, std::uint8_t poison) {
  size_bytes = at_least_one(size_bytes);
  Block block;
  block.backing = take(kPageBytes + size_bytes + kGuardBytes);
  block.bytes = block.backing.get() + kPageBytes;
  std::memset(block.bytes - kGuardBytes, kGuard, kGuardBytes);
  std::memset(block.bytes, poison, size_bytes);
  std::memset(block.bytes + size_bytes, kGuard, kGuardBytes);
  block.range.begin = reinterpret_cast<std::uint64_t>(block.bytes);
  block.range.end = block.range.begin + size_bytes;
  return add(std::move(block));
}

Block& Memory::add_registered(void* memory, std::size_t size_bytes) {
  Block block;
  block.bytes = static_cast<std::byte*>(memory);
  block.range.begin = reinterpret_cast<std::uint64_t>(memory);
  block.range.end = block.range.begin + size_bytes;
  return add(std::move(block));
}

Block* Memory::starting_at(std::uint64_t address) {
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? nullptr : &found->second;
}

Block* Memory::holding(Range range) {
  auto after = blocks_.upper_bound(range.begin);
  if (after == blocks_.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return range.begin >= block.range.begin && range.end <= block.range.end ? &block : nullptr;
}

Block* Memory::touching(Range range) {
  for (auto& [begin, block] : blocks_) {
    if (block.range.overlaps(range)) return &block;
  }
  return nullptr;
}

bool Memory::are_guards_intact(const Block& block) {
  if (block.device != kHost || !block.backing) return true;
  return is_guard(block.bytes - kGuardBytes) && is_guard(block.bytes + block.size_bytes());
}

}  // namespace turnpike::simulated
