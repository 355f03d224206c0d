// Whether CUPTI itself crashes when it is flushed while threads copy (docs/record.md). Needs a GPU; not part of the
// build:
//
//   g++ -O1 tests/gpu/cupti_buffers.cpp -o cupti_buffers -I CUDA/include -L CUDA/lib64 -lcupti -lcuda
//   for i in 1 2 3 4 5 6 7 8; do ./cupti_buffers 1 20 & done; wait   # 0: one buffer for all threads
#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = 20'000;
std::atomic<unsigned long> record_count{0};

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = 512 * 1024;
  *buffer = static_cast<std::uint8_t*>(std::calloc(1, *bytes));
  *max_records = 0;
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) ++record_count;
  std::free(buffer);
}

unsigned long copy(CUcontext context, const std::atomic<bool>& must_stop) {
  CUstream stream = nullptr;
  CUdeviceptr device = 0;
  void* host = nullptr;
  cuCtxSetCurrent(context);
  cuStreamCreate(&stream, 0);
  cuMemAlloc(&device, kBytes);
  cuMemAllocHost(&host, kBytes);
  unsigned long count = 0;
  for (; !must_stop; count += 50) {
    for (int i = 0; i < 50; ++i) cuMemcpyHtoDAsync(device, host, kBytes, stream);
    cuStreamSynchronize(stream);
  }
  return count;
}

// Fills what CUPTI frees, as a program does.
void allocate(const std::atomic<bool>& must_stop) {
  void* kept[256] = {};
  for (std::uint32_t number = 1; !must_stop;) {
    number = number * 1664525 + 1013904223;
    void*& place = kept[number >> 24];
    const std::size_t bytes = 8 + (number >> 8) % 120;
    std::free(place);
    place = std::memset(std::malloc(bytes), 0x5a, bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint8_t is_per_thread = argc > 1 && std::atoi(argv[1]) != 0;
  const std::chrono::seconds time(argc > 2 ? std::atoi(argv[2]) : 20);
  std::size_t bytes = sizeof(is_per_thread);
  cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &is_per_thread);
  cuptiActivityRegisterCallbacks(request, complete);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
  CUdevice device = 0;
  CUcontext context = nullptr;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  std::atomic<bool> must_stop{false};
  std::atomic<unsigned long> copy_count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { copy_count += copy(context, must_stop); });
  for (int i = 0; i < 2; ++i) threads.emplace_back(allocate, std::cref(must_stop));
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cuptiActivityFlushAll(0);
  }
  must_stop = true;
  for (std::thread& thread : threads) thread.join();
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::printf("%lu copies, %lu records\n", copy_count.load(), record_count.load());
  return copy_count == record_count ? 0 : 1;
}
