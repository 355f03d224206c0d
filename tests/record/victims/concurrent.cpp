// Victims with many threads.
#include <memory>
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {

int threads(Arguments arguments) {
  const std::uint64_t thread_count = number(arguments[0]);
  const std::uint64_t count = number(arguments[1]);
  const Buffers buffers;
  std::vector<std::thread> running;
  for (std::uint64_t i = 0; i < thread_count; ++i) {
    running.emplace_back([&buffers, i, count] {
      cudaStream_t stream = nullptr;
      MUST(cudaStreamCreate(&stream));
      // Memory of its own: the fake really copies, and two copies to one place would race.
      void* device = nullptr;
      MUST(cudaMalloc(&device, 4096));
      for (std::uint64_t k = 0; k < count; ++k) {
        MUST(cudaMemcpyAsync(device, buffers.pinned, 100 + i, cudaMemcpyHostToDevice, stream));
      }
      MUST(cudaStreamSynchronize(stream));
    });
  }
  for (std::thread& thread : running) thread.join();
  std::printf("threads %lu\n", thread_count);
  return 0;
}

int short_threads(Arguments arguments) {
  const Buffers buffers;
  for (std::uint64_t i = 0; i < number(arguments[0]); ++i) {
    std::thread([&buffers, i] { upload(buffers, 1, 100 + i); }).join();
  }
  MUST(cudaDeviceSynchronize());
  std::printf("short threads\n");
  return 0;
}

}  // namespace victim
