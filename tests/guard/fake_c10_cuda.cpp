// Stands for libc10_cuda: PyTorch's caching allocator, which an exception must not leave, and what others call in the
// same library.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

extern "C" {
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaEventSynchronize(void*);
int cudaStreamSynchronize(void*);
int cudaDeviceSynchronize();
int cudaMalloc(void**, std::size_t);
void* fake_gpu(int device);
}

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10::cuda {

EXPORT void device_synchronize();
void device_synchronize() {
  cudaDeviceSynchronize();
  asm volatile("");  // no tail call: its frame has the name
}

}  // namespace c10::cuda

namespace {

// Events of blocks that streams still use.
std::vector<std::unique_ptr<int>> g_events;

}  // namespace

extern "C" {
EXPORT void use_block(void*) {
  g_events.push_back(std::make_unique<int>(0));
}
// As CUDACachingAllocator does it: an exception in between leaves an event in the list that is none.
EXPORT void synchronize_and_free_events(void*) {
  for (auto& one : g_events) {
    const std::unique_ptr<int> event = std::move(one);
    cudaEventSynchronize(event.get());
  }
  g_events.clear();
}
EXPORT void process_events(void*) {
  for (const auto& one : g_events) ++*one;
}
EXPORT void grow(void*) {
  void* memory = nullptr;
  cudaMalloc(&memory, 4096);
  asm volatile("");
}
EXPORT void synchronize_for_somebody(void*) {
  c10::cuda::device_synchronize();
  asm volatile("");
}
EXPORT void copy_between_gpus(void*) {
  cudaMemcpyAsync(fake_gpu(1), fake_gpu(0), 64, 3, nullptr);
  asm volatile("");
}
EXPORT void wait_for_a_stream(void*) {
  cudaStreamSynchronize(nullptr);
  asm volatile("");
}
}
