// What every victim needs: calls that must succeed, and buffers of each kind of memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
// Their headers are not in every toolkit.
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
}

namespace victim {

// A victim whose CUDA call fails says so and ends with a code of its own.
inline void must(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %d\n", what, static_cast<int>(result));
  std::_Exit(70);
}
#define MUST(call) ::victim::must(call, #call)

inline constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

// Never freed: the process ends soon.
struct Buffers {
  void* device = nullptr;
  void* other = nullptr;  // a second one on the device
  void* pinned = nullptr;
  std::vector<unsigned char> pageable = std::vector<unsigned char>(kBufferBytes, 7);

  Buffers() {
    MUST(cudaMalloc(&device, kBufferBytes));
    MUST(cudaMalloc(&other, kBufferBytes));
    MUST(cudaMallocHost(&pinned, kBufferBytes));
    for (std::size_t i = 0; i < kBufferBytes; ++i)
      static_cast<unsigned char*>(pinned)[i] = static_cast<unsigned char>(i);
  }
};

// `count` uploads of `bytes` bytes from pinned memory.
inline void upload(const Buffers& buffers, std::uint64_t count, std::size_t bytes, cudaStream_t stream = nullptr) {
  for (std::uint64_t i = 0; i < count; ++i) {
    MUST(cudaMemcpyAsync(buffers.device, buffers.pinned, bytes, cudaMemcpyHostToDevice, stream));
  }
}

// Of what the device holds: a victim prints it, so that a wrong result shows.
inline std::uint64_t checksum(const Buffers& buffers) {
  std::vector<unsigned char> bytes(kBufferBytes);
  MUST(cudaMemcpy(bytes.data(), buffers.device, bytes.size(), cudaMemcpyDeviceToHost));
  std::uint64_t sum = 0;
  for (const unsigned char byte : bytes) sum = sum * 31 + byte;
  return sum;
}

inline std::uint64_t number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

}  // namespace victim
