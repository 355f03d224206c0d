// A victim whose copies carry known contents: each case has sizes of its own.
#include <thread>

#include "gpu.h"
#include "scenarios.h"

extern "C" std::uint64_t fake_cuda_pointer_questions();

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

// `count` downloads of `bytes` bytes, each waited for; returns how often the driver was asked.
std::uint64_t questions_of_downloads(const Buffers& buffers, void* to, std::uint64_t count, std::size_t bytes) {
  const std::uint64_t before = fake_cuda_pointer_questions();
  for (std::uint64_t i = 0; i < count; ++i) {
    MUST(cudaMemcpyAsync(to, buffers.device, bytes, cudaMemcpyDeviceToHost, nullptr));
    MUST(cudaDeviceSynchronize());
  }
  return fake_cuda_pointer_questions() - before;
}

int asked_memory(Arguments) {
  Buffers buffers;
  auto* const pageable = buffers.pageable.data();
  const auto say = [&](const char* what, void* to, std::size_t bytes) {
    std::printf("%s %lu\n", what, questions_of_downloads(buffers, to, 50, bytes));
  };
  upload(buffers, 1, 3001);
  say("pageable", pageable, 3001);
  say("pageable again", pageable, 3001);
  say("pinned", buffers.pinned, 3002);
  say("pinned elsewhere", static_cast<unsigned char*>(buffers.pinned) + 4096, 3002);
  MUST(cudaHostRegister(pageable, kBufferBytes, cudaHostRegisterDefault));
  say("registered", pageable, 3003);
  MUST(cudaHostUnregister(pageable));
  say("unregistered", pageable, 3004);
  MUST(cudaFree(buffers.other));
  say("after a free of the device's", pageable, 3004);
  void* managed = nullptr;
  MUST(cudaMallocManaged(&managed, kBufferBytes, cudaMemAttachGlobal));
  say("managed", managed, 3005);
  MUST(cudaFree(managed));
  say("after a free of managed memory", pageable, 3004);
  return 0;
}

}  // namespace victim
