// The memory of the fake PyTorch, where its calls go to the fake runtime of tests/fake: the driver there knows it.
// Loaded before libcudart_of_guard.so, which has some that only it knows.
#include <cuda_runtime_api.h>

#include <cstddef>

namespace {

constexpr std::size_t kArea = 1 << 20;

void* allocated(cudaError_t (*allocate)(void**, std::size_t)) {
  void* memory = nullptr;
  return allocate(&memory, kArea) == cudaSuccess ? memory : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* fake_gpu(int) {
  static void* const memory = allocated(cudaMalloc);
  return memory;
}
extern "C" __attribute__((visibility("default"))) void* fake_pinned() {
  static void* const memory = allocated(cudaMallocHost);
  return memory;
}
