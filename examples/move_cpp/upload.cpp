// Uploads memory of malloc to a GPU at the speed of the link, from plain CUDA C++; and by cudaMemcpy, to compare.
#include <cuda_runtime_api.h>
#include <turnpike/move.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 30;
constexpr int kTurns = 7;

void require(bool is_fine, const char* what) {
  if (is_fine) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

double median_gbps(const std::function<void()>& copy) {
  std::vector<double> rates;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    copy();
    require(cudaDeviceSynchronize() == cudaSuccess, "waiting for the GPU");
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    rates.push_back(static_cast<double>(kBytes) / took.count());
  }
  std::sort(rates.begin(), rates.end());
  return rates[kTurns / 2];
}

}  // namespace

int main() {
  auto engine = turnpike::move::Engine::open();
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return 1;
  }
  std::vector<unsigned char> sent(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<unsigned char>((i * 2654435761U) >> 13);
  void* memory = nullptr;
  require(cudaMalloc(&memory, kBytes) == cudaSuccess, "allocating on the GPU");

  const double by_cuda = median_gbps([&] {
    require(cudaMemcpy(memory, sent.data(), kBytes, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
  });
  require(cudaMemset(memory, 0, kBytes) == cudaSuccess, "clearing");

  const turnpike::move::Piece piece{.host = sent.data(),
                                    .device = reinterpret_cast<turnpike::move::DeviceAddress>(memory),
                                    .size_bytes = kBytes};
  const double by_turnpike = median_gbps([&] {
    const turnpike::Status status = (*engine)->upload(/*device=*/0, {&piece, 1}, /*stream=*/nullptr);
    if (!status) {
      std::fprintf(stderr, "%s\n", status.error().message.c_str());
      std::exit(1);
    }
  });

  std::vector<unsigned char> returned(kBytes);
  require(cudaMemcpy(returned.data(), memory, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess, "copying back");
  if (sent != returned) {
    std::fprintf(stderr, "other bytes came back than were sent\n");
    return 1;
  }
  std::printf("1 GiB of pageable memory to the GPU: cudaMemcpy %.1f GB/s, Turnpike %.1f GB/s (%.1fx)\n", by_cuda,
              by_turnpike, by_turnpike / by_cuda);
}
