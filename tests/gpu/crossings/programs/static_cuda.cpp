// The same with the runtime linked statically, as nvcc does by default: no libcudart.so to see.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) \
  if ((call) != cudaSuccess) std::exit(1)

__attribute__((noinline)) void upload(float* device, const std::vector<float>& host) {
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
}

__attribute__((noinline)) void download(std::vector<float>& host, const float* device) {
  CHECK(cudaMemcpyAsync(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
}

__attribute__((noinline)) void clear(float* device, std::size_t count) {
  CHECK(cudaMemset(device, 0, count * sizeof(float)));
}

int main() {
  std::vector<float> host(1 << 20, 1.0f);
  float* device = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(float)));
  clear(device, host.size());
  for (int i = 0; i < 3; ++i) upload(device, host);
  download(host, device);
  std::printf("%f\n", host.back());
  return 0;
}

// suite: count=truth needs=nvcc cudart=static
// expect native: h2d count=3 bytes=12582912 kinds=pageable->device op=none function=upload
// expect native: d2h count=1 bytes=4194304 kinds=device->pageable op=none blocked=1 function=download
// expect native: memset count=1 bytes=4194304 op=none function=clear
