// Victims with many threads.
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

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

int no_keys(Arguments) {
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key = 0; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  for (const pthread_key_t key : keys) pthread_setspecific(key, &keys);
  const Buffers buffers;
  upload(buffers, 5, 30);
  std::thread([&buffers] { upload(buffers, 5, 31); }).join();
  const bool are_kept =
      std::all_of(keys.begin(), keys.end(), [&](pthread_key_t key) { return pthread_getspecific(key) == &keys; });
  std::printf("keys %s\n", are_kept ? "kept" : "overwritten");
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
