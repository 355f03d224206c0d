// Victims that mark ranges: NVTX as a program uses it, and the switches of the profiler API.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "gpu.h"
#include "scenarios.h"

namespace victim {

int ranges(Arguments) {
  const Buffers buffers;
  nvtxNameOsThreadA(0, "unused");
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
  upload(buffers, 1, 64);
  nvtxRangePop();
  nvtxRangePop();

  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xFF112233;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "coloured";
  nvtxDomainHandle_t domain = nvtxDomainCreateA("my domain");
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);

  const nvtxRangeId_t crossing = nvtxRangeStartA("crossing");
  std::thread([crossing] { nvtxRangeEnd(crossing); }).join();
  nvtxMarkA("mark");

  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered;
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
  nvtxRangePushA("never popped");
  MUST(cudaDeviceSynchronize());
  std::printf("ranges\n");
  return 0;
}

int numbered_ranges(Arguments) {
  const Buffers buffers;
  // Short ones at the end: they fill what long ones leave.
  for (int step = 0; step < 6'700; ++step) {
    nvtxRangePushA((std::to_string(step) + std::string(step < 700 ? 60'000 : 1, 's')).c_str());
    nvtxRangePop();
  }
  MUST(cudaLaunchKernel("_Z6kernelPf", dim3(1), dim3(32), nullptr, 0, nullptr));
  MUST(cudaDeviceSynchronize());
  std::printf("ranges\n");
  return 0;
}

// COUNT steps of MS each, of which every nth takes so much longer.
int steps(Arguments arguments) {
  const std::uint64_t count = number(arguments[0]);
  const auto pause = std::chrono::milliseconds(number(arguments[1]));
  const std::uint64_t nth = number(arguments[2]);
  const auto slow = std::chrono::milliseconds(number(arguments[3]));
  const Buffers buffers;
  for (std::uint64_t step = 1; step <= count; ++step) {
    nvtxRangePushA(("train_step " + std::to_string(step)).c_str());
    upload(buffers, 1, step);
    std::this_thread::sleep_for(step % nth == 0 ? slow : pause);
    nvtxRangePop();
  }
  std::printf("steps\n");
  return 0;
}

namespace {

void nested_ranges() {
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
  nvtxRangePop();
  nvtxRangePop();
}

// Memory that a thread gave back is given out again: what its ranges write there shows.
void ranges_beside_new_memory() {
  constexpr std::size_t kBlocks = 64;
  unsigned char* blocks[kBlocks];
  const auto bytes_of = [](std::size_t block) { return 16 * (1 + block % 16); };
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks[i] = static_cast<unsigned char*>(std::malloc(bytes_of(i)));
    std::memset(blocks[i], 7, bytes_of(i));
  }
  nested_ranges();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const bool is_whole = std::all_of(blocks[i], blocks[i] + bytes_of(i), [](unsigned char byte) { return byte == 7; });
    if (!is_whole) std::_Exit(73);
    std::free(blocks[i]);
  }
  std::printf("late\n");
  std::fflush(stdout);
}

struct Late {
  ~Late() { ranges_beside_new_memory(); }
};

}  // namespace

int late_ranges(Arguments arguments) {
  // With CUDA, where it is recorded from here on.
  const Buffers buffers;
  const std::string where = arguments[0];
  for (int i = 0; i < 10; ++i) nested_ranges();
  if (where == "static") static const Late late;
  if (where == "exit") std::atexit(ranges_beside_new_memory);
  if (where == "key") {
    std::thread([] {
      static pthread_key_t key;
      pthread_key_create(&key, [](void*) { ranges_beside_new_memory(); });
      for (int i = 0; i < 10; ++i) nested_ranges();
      pthread_setspecific(key, &key);
    }).join();
  }
  return 0;
}

int profiler_range(Arguments) {
  const Buffers buffers;
  for (int round = 0; round < 2; ++round) {
    upload(buffers, 10, 3001);
    MUST(cudaDeviceSynchronize());
    MUST(cudaProfilerStart());
    upload(buffers, 7, 3002);
    MUST(cudaDeviceSynchronize());
    MUST(cudaProfilerStop());
    upload(buffers, 5, 3003);
    MUST(cudaDeviceSynchronize());
  }
  std::printf("profiler range\n");
  return 0;
}

int kernel_range(Arguments) {
  const auto launch = [](int count) {
    for (int i = 0; i < count; ++i) MUST(cudaLaunchKernel("_Z6kernelPf", dim3(1), dim3(32), nullptr, 0, nullptr));
    MUST(cudaDeviceSynchronize());
  };
  const Buffers buffers;
  for (int round = 0; round < 2; ++round) {
    launch(10);
    MUST(cudaProfilerStart());
    launch(7);
    MUST(cudaProfilerStop());
    launch(5);
  }
  std::printf("kernel range\n");
  return 0;
}

int nvtx_range(Arguments) {
  const Buffers buffers;
  for (int round = 0; round < 2; ++round) {
    nvtxRangePushA("other");
    upload(buffers, 10, 3001);
    MUST(cudaDeviceSynchronize());
    nvtxRangePushA("wanted");
    upload(buffers, 7, 3002);
    MUST(cudaDeviceSynchronize());
    nvtxRangePop();
    upload(buffers, 5, 3003);
    MUST(cudaDeviceSynchronize());
    nvtxRangePop();
  }
  std::printf("nvtx range\n");
  return 0;
}

}  // namespace victim
