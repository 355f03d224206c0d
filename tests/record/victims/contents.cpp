// A victim whose copies carry known contents: each case has sizes of its own.
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {
namespace {

void uploads_again(Buffers& buffers) {
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 2) buffers.pageable[3000] ^= 1;
    MUST(cudaMemcpy(buffers.device, buffers.pageable.data(), 3001, cudaMemcpyHostToDevice));
  }
  upload(buffers, 1, 63);
  for (int turn = 0; turn < 2; ++turn) upload(buffers, 1, 50'000);
}

// Up and down again on four ways, each of which ends with the bytes in host memory.
void round_trips(Buffers& buffers, cudaStream_t stream) {
  std::vector<unsigned char> pageable(kBufferBytes);
  void* pinned = nullptr;
  MUST(cudaMallocHost(&pinned, kBufferBytes));
  upload(buffers, 1, 3002, stream);
  MUST(cudaMemcpyAsync(pageable.data(), buffers.device, 3002, cudaMemcpyDeviceToHost, stream));
  pageable[0] ^= 1;  // the bytes had arrived: this is a change of the program's own
  MUST(cudaMemcpyAsync(pinned, buffers.device, 3002, cudaMemcpyDeviceToHost, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpyAsync(pinned, buffers.device, 3002, cudaMemcpyDeviceToHost, stream));
  MUST(cudaDeviceSynchronize());
  MUST(cudaMemcpy(pinned, buffers.device, 3002, cudaMemcpyDeviceToHost));
}

// Pinned memory that is used again before anybody waited for it.
void used_too_early(Buffers& buffers, cudaStream_t stream) {
  void* pinned = nullptr;
  MUST(cudaMallocHost(&pinned, kBufferBytes));
  MUST(cudaMemcpyAsync(pinned, buffers.device, 3005, cudaMemcpyDeviceToHost, stream));
  MUST(cudaMemcpyAsync(pinned, buffers.device, 3006, cudaMemcpyDeviceToHost, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpyAsync(pinned, buffers.device, 3007, cudaMemcpyDeviceToHost, stream));
  MUST(cudaMemcpyAsync(buffers.device, pinned, 3008, cudaMemcpyHostToDevice, stream));
  MUST(cudaStreamSynchronize(stream));
}

void never_waited_for(Buffers& buffers, cudaStream_t stream) {
  cudaStream_t other = nullptr;
  MUST(cudaStreamCreate(&other));
  std::thread([&] {
    MUST(cudaMemcpyAsync(buffers.pinned, buffers.device, 3004, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(other));
  }).join();
  MUST(cudaDeviceSynchronize());
}

void nothing_to_see(Buffers& buffers) {
  void* managed = nullptr;
  MUST(cudaMallocManaged(&managed, kBufferBytes, cudaMemAttachGlobal));
  MUST(cudaMemcpy(buffers.device, managed, 3010, cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(buffers.device, buffers.pageable.data(), 3012, cudaMemcpyDefault));
  if (cudaMemcpy(nullptr, buffers.pageable.data(), 3013, cudaMemcpyHostToDevice) == cudaSuccess) std::_Exit(71);
  MUST(cudaMemcpy(buffers.device, buffers.pageable.data(), 3011, cudaMemcpyHostToDevice));
}

}  // namespace

int contents(Arguments) {
  Buffers buffers;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  uploads_again(buffers);
  round_trips(buffers, stream);
  used_too_early(buffers, stream);
  never_waited_for(buffers, stream);
  nothing_to_see(buffers);
  std::printf("contents %lu\n", checksum(buffers));
  return 0;
}

}  // namespace victim
