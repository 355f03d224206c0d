// Victims that make calls of the CUDA API on one thread.
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {
namespace {

const char* kKernelName = "_Z6kernelPf";

void driver_copies(const Buffers& buffers) {
  const auto device = reinterpret_cast<CUdeviceptr>(buffers.device);
  MUST(static_cast<cudaError_t>(cuMemcpyHtoDAsync_v2(device, buffers.pinned, 1012, nullptr)));
  MUST(static_cast<cudaError_t>(cuMemcpyDtoH_v2(buffers.pinned, device, 1013)));
  auto* function = reinterpret_cast<CUfunction>(const_cast<char*>(kKernelName));
  MUST(static_cast<cudaError_t>(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr)));
}

void copies(Buffers& buffers, cudaStream_t stream) {
  void* pageable = buffers.pageable.data();
  MUST(cudaMemcpyAsync(buffers.device, pageable, 1001, cudaMemcpyHostToDevice, stream));
  MUST(cudaMemcpyAsync(buffers.device, buffers.pinned, 1002, cudaMemcpyHostToDevice, stream));
  MUST(cudaMemcpyAsync(buffers.pinned, buffers.device, 1003, cudaMemcpyDeviceToHost, stream));
  MUST(cudaMemcpyAsync(pageable, buffers.device, 1004, cudaMemcpyDeviceToHost, stream));
  MUST(cudaMemcpyAsync(buffers.other, buffers.device, 1005, cudaMemcpyDeviceToDevice, stream));
  MUST(cudaMemcpy(buffers.device, buffers.pinned, 1006, cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(pageable, buffers.device, 1007, cudaMemcpyDeviceToHost));
  MUST(cudaMemcpyPeerAsync(buffers.other, 1, buffers.device, 0, 1008, stream));
  MUST(cudaMemsetAsync(buffers.device, 3, 1009, stream));
  MUST(cudaMemset(buffers.device, 4, 1010));
  MUST(cudaMemcpyAsync(buffers.pinned, pageable, 1014, cudaMemcpyDefault, stream));
}

void registered_copy(const Buffers& buffers, cudaStream_t stream) {
  std::vector<unsigned char> memory(2048, 1);
  MUST(cudaHostRegister(memory.data(), memory.size(), 0));
  MUST(cudaMemcpyAsync(buffers.device, memory.data(), 1011, cudaMemcpyHostToDevice, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaHostUnregister(memory.data()));
}

void batched_copies(const Buffers& buffers, cudaStream_t stream) {
  const std::array<void*, 2> dsts = {buffers.device, buffers.other};
  const std::array<const void*, 2> srcs = {buffers.pinned, buffers.pinned};
  const std::array<std::size_t, 2> sizes = {500, 515};
  cudaMemcpyAttributes attributes{};
  std::size_t index = 0;
  MUST(cudaMemcpyBatchAsync(dsts.data(), srcs.data(), sizes.data(), 2, &attributes, &index, 1, stream));
}

void managed_memory(cudaStream_t stream) {
  void* managed = nullptr;
  MUST(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  MUST(cudaMemPrefetchAsync(managed, 1016, location, 0, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaFree(managed));
}

void events(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  MUST(cudaEventCreate(&event));
  MUST(cudaEventRecord(event, stream));
  MUST(cudaStreamWaitEvent(nullptr, event, 0));
  MUST(cudaEventSynchronize(event));
  MUST(cudaEventQuery(event));
  MUST(cudaEventDestroy(event));
}

// COUNT MS, and what follows each upload. Returns COUNT.
template <typename Then>
std::uint64_t upload_at_a_pace(Arguments arguments, Then then) {
  const std::uint64_t count = number(arguments[0]);
  const auto pause = std::chrono::milliseconds(number(arguments[1]));
  const Buffers buffers;
  for (std::uint64_t i = 1; i <= count; ++i) {
    upload(buffers, 1, i);
    then();
    std::this_thread::sleep_for(pause);
  }
  return count;
}

}  // namespace

int every_kind(Arguments) {
  Buffers buffers;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  copies(buffers, stream);
  registered_copy(buffers, stream);
  driver_copies(buffers);
  batched_copies(buffers, stream);
  managed_memory(stream);
  events(stream);
  MUST(cudaLaunchKernel(kKernelName, dim3(1), dim3(32), nullptr, 0, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaDeviceSynchronize());
  MUST(cudaStreamDestroy(stream));
  MUST(cudaFree(buffers.other));
  MUST(cudaFreeHost(buffers.pinned));
  std::printf("every kind: %d\n", static_cast<int>(buffers.pageable[0]));
  return 0;
}

int uploads(Arguments arguments) {
  const std::uint64_t count = number(arguments[0]);
  const Buffers buffers;
  for (std::uint64_t i = 1; i <= count; ++i) {
    upload(buffers, 1, i % kBufferBytes + (i >= kBufferBytes));
    if (i % 100 == 0) MUST(cudaStreamSynchronize(nullptr));
  }
  std::printf("checksum %lu\n", checksum(buffers));
  std::fprintf(stderr, "uploaded\n");
  return 3;
}

int paced(Arguments arguments) {
  std::printf("paced %lu\n", upload_at_a_pace(arguments, [] {}));
  return 0;
}

int waited_for(Arguments arguments) {
  std::printf("waited for %lu\n", upload_at_a_pace(arguments, [] { MUST(cudaStreamSynchronize(nullptr)); }));
  return 0;
}

int endless(Arguments arguments) {
  const Buffers buffers;
  const int progress = open(arguments[0], O_RDWR);
  auto* done = static_cast<std::size_t*>(mmap(nullptr, sizeof(std::size_t), PROT_WRITE, MAP_SHARED, progress, 0));
  if (done == MAP_FAILED) return 3;
  // The address space of sizes is the buffer: large enough for what a killed process gets done.
  void* large = nullptr;
  constexpr std::size_t kLargeBytes = std::size_t{1} << 24;
  MUST(cudaMalloc(&large, kLargeBytes));
  void* source = nullptr;
  MUST(cudaMallocHost(&source, kLargeBytes));
  std::printf("started\n");
  std::fflush(stdout);
  for (std::size_t bytes = 1; bytes < kLargeBytes; ++bytes) {
    MUST(cudaMemcpyAsync(large, source, bytes, cudaMemcpyHostToDevice, nullptr));
    __atomic_store_n(done, bytes, __ATOMIC_RELEASE);
    if (bytes % 64 == 0) MUST(cudaStreamSynchronize(nullptr));
  }
  return 0;
}

int many(Arguments arguments) {
  const Buffers buffers;
  upload(buffers, number(arguments[0]), 8);
  MUST(cudaDeviceSynchronize());
  std::printf("checksum %lu\n", checksum(buffers));
  return 0;
}

int graph(Arguments arguments) {
  Buffers buffers;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  MUST(cudaMemcpyAsync(buffers.device, buffers.pinned, 2001, cudaMemcpyHostToDevice, stream));
  MUST(cudaLaunchKernel(kKernelName, dim3(1), dim3(32), nullptr, 0, stream));
  MUST(cudaMemcpyAsync(buffers.pinned, buffers.device, 2002, cudaMemcpyDeviceToHost, stream));
  cudaGraph_t captured = nullptr;
  MUST(cudaStreamEndCapture(stream, &captured));
  cudaGraphExec_t exec = nullptr;
  MUST(cudaGraphInstantiate(&exec, captured, 0));
  for (std::uint64_t i = 0; i < number(arguments[0]); ++i) MUST(cudaGraphLaunch(exec, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaGraphExecDestroy(exec));
  MUST(cudaGraphDestroy(captured));
  std::printf("graph done\n");
  return 0;
}

}  // namespace victim
