// Keeps freed blocks by stream and size.
#include "simulated/allocator.h"

namespace turnpike::simulated {
namespace {

constexpr std::size_t kRoundBytes = 512;

}  // namespace

std::uint64_t SimulatedAllocator::allocate(int device, CUstream_st* stream, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t rounded = (size_bytes + kRoundBytes - 1) / kRoundBytes * kRoundBytes;
  const Kind kind{device, stream, rounded};
  std::vector<std::uint64_t>& free = free_[kind];
  std::uint64_t address = 0;
  if (free.empty()) {
    address = simulation_.device_memory(device, rounded);
    kinds_[address] = kind;
  } else {
    address = free.back();
    free.pop_back();
  }
  simulation_.launch(device, stream,
                     {.name = "the first write of a new owner", .writes = {range_of(address, rounded)}});
  return address;
}

void SimulatedAllocator::free(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  free_[kinds_.at(address)].push_back(address);
}

std::shared_ptr<const std::uint64_t> SimulatedAllocator::hold(int device, CUstream_st* stream, std::size_t size_bytes) {
  return {new std::uint64_t(allocate(device, stream, size_bytes)), [this](const std::uint64_t* address) {
            free(*address);
            delete address;
          }};
}

std::size_t SimulatedAllocator::blocks() const {
  const std::lock_guard lock(mutex_);
  return kinds_.size();
}

}  // namespace turnpike::simulated
