// Victims that take and give back memory, of the host and of the device.
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {

int grow(Arguments arguments) {
  const std::size_t bytes = number(arguments[0]);
  const Buffers buffers;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(350)); };
  pause();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
  pause();
  munmap(memory, bytes);
  pause();
  upload(buffers, 1, 64);
  std::printf("grown\n");
  return 0;
}

int allocations(Arguments) {
  MUST(cudaSetDevice(0));
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  void* memory = nullptr;
  MUST(cudaMallocAsync(&memory, 4001, stream));
  MUST(cudaFreeAsync(memory, stream));
  MUST(cudaMallocFromPoolAsync(&memory, 4002, nullptr, stream));
  MUST(cudaFreeAsync(memory, stream));
  std::size_t pitch = 0;
  MUST(cudaMallocPitch(&memory, &pitch, 100, 40));
  MUST(cudaFree(memory));
  // As PyTorch's expandable segments take memory.
  CUmemAllocationProp device{};
  device.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  device.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  MUST(static_cast<cudaError_t>(cuMemCreate(&handle, 4004, &device, 0)));
  MUST(static_cast<cudaError_t>(cuMemRelease(handle)));
  device.location.type = CU_MEM_LOCATION_TYPE_HOST;
  MUST(static_cast<cudaError_t>(cuMemCreate(&handle, 4005, &device, 0)));
  MUST(static_cast<cudaError_t>(cuMemRelease(handle)));
  MUST(static_cast<cudaError_t>(cuMemAllocHost_v2(&memory, 4006)));
  MUST(static_cast<cudaError_t>(cuMemFreeHost(memory)));
  std::printf("allocations\n");
  return 0;
}

}  // namespace victim
