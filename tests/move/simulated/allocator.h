// A caching allocator for device memory in the manner of PyTorch's: what is freed is at once there for the same stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "simulated/simulation.h"

namespace turnpike::simulated {

// A block belongs to the stream that it was allocated for. Freed, the next request of its size for this stream gets it,
// while kernels that use it may still be queued: only work of this stream, and what is in order with it, may touch it.
// The new owner of a block writes it at once, in its stream. Safe from any thread.
class SimulatedAllocator {
 public:
  explicit SimulatedAllocator(Simulation& simulation) : simulation_(simulation) {}

  std::uint64_t allocate(int device, CUstream_st* stream, std::size_t size_bytes);
  void free(std::uint64_t address);
  // Frees the block when the last holder is gone, like a tensor.
  std::shared_ptr<const std::uint64_t> hold(int device, CUstream_st* stream, std::size_t size_bytes);

  std::size_t blocks() const;  // taken from the device, in use or not

 private:
  using Kind = std::tuple<int, CUstream_st*, std::size_t>;

  Simulation& simulation_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Kind> kinds_;
  std::map<Kind, std::vector<std::uint64_t>> free_;
};

}  // namespace turnpike::simulated
