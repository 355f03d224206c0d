// Stands for an extension that calls what PyTorch itself does not: further copies, and the variants for default streams
// of each thread.
#include <cstddef>

#include "guard/runtime_call.h"

using turnpike::guard::Block;
using turnpike::guard::BlockCopy;
using turnpike::guard::Passed;
using turnpike::guard::PeerBlockCopy;
using Size = std::size_t;

extern "C" {
void* fake_gpu(int device);
void* fake_pinned();
int cudaMemcpy_ptds(void*, const void*, Size, int);
int cudaMemcpyAsync_ptsz(void*, const void*, Size, int, void*);
int cudaMemcpy2DAsync_ptsz(void*, Size, const void*, Size, Size, Size, int, void*);
int cudaMemcpy3D(const BlockCopy*);
int cudaMemcpy3DPeerAsync(const PeerBlockCopy*, void*);
int cudaMemcpyBatchAsync(void**, const void**, const Size*, Size, Passed, Passed, Passed, Passed, Passed);
int cudaMemcpyToSymbol(const void*, const void*, Size, Size, int);
int cudaMemcpyFromSymbolAsync(void*, const void*, Size, Size, int, void*);
int cudaMemcpy2DToArray(void*, Size, Size, const void*, Size, Size, Size, int);
int cudaMemPrefetchAsync(const void*, Size, Passed, Passed, Passed);
int cudaMemPrefetchAsync_v2(const void*, Size, Passed, Passed, Passed);
int cudaStreamSynchronize_ptsz(void*);
int cudaMallocAsync(void**, Size, void*);
int cudaMallocManaged(void**, Size, unsigned);
int cudaFreeHost(void*);
}

#define CALL(name, ...)                                                          \
  extern "C" __attribute__((visibility("default"), noinline)) void name(void*) { \
    __VA_ARGS__;                                                                 \
    asm volatile("");                                                            \
  }

constexpr int kToGpu = 1;
constexpr int kFromGpu = 2;
constexpr int kByAddress = 4;
void* const g_stream = reinterpret_cast<void*>(7);
char g_pageable[64];

CALL(copy_ptds, cudaMemcpy_ptds(fake_gpu(0), g_pageable, 8, kToGpu))
CALL(copy_async_ptsz, cudaMemcpyAsync_ptsz(g_pageable, fake_gpu(0), 8, kFromGpu, g_stream))
CALL(rows_async_ptsz, cudaMemcpy2DAsync_ptsz(fake_gpu(0), 8, g_pageable, 8, 2, 3, kToGpu, g_stream))
CALL(block, const BlockCopy copy = {.from = {.pointer = g_pageable},
                                    .to = {.pointer = fake_gpu(0)},
                                    .extent = {2, 3, 4},
                                    .kind = kToGpu};
     cudaMemcpy3D(&copy))
CALL(block_between, const PeerBlockCopy copy = {.from = {.block = {.pointer = fake_gpu(0)}, .device = 0},
                                                .to = {.block = {.pointer = fake_gpu(1)}, .device = 1},
                                                .extent = {2, 3, 4}};
     cudaMemcpy3DPeerAsync(&copy, g_stream))
CALL(batch, void* to[] = {fake_gpu(0), fake_gpu(0)}; const void* from[] = {g_pageable, g_pageable};
     const Size bytes[] = {5, 6}; cudaMemcpyBatchAsync(to, from, bytes, 2, 0, 0, 0, 0, 0))
CALL(to_symbol, cudaMemcpyToSymbol(fake_gpu(0), g_pageable, 8, 0, kToGpu))
CALL(from_symbol, cudaMemcpyFromSymbolAsync(g_pageable, fake_gpu(0), 8, 0, kByAddress, g_stream))
CALL(within_gpu, cudaMemcpyToSymbol(fake_gpu(0), fake_gpu(1), 8, 0, kByAddress))
CALL(to_array, cudaMemcpy2DToArray(fake_gpu(0), 0, 0, g_pageable, 8, 2, 3, kToGpu))
CALL(prefetch, cudaMemPrefetchAsync(fake_gpu(0), 8, 0, 7, 0))
CALL(prefetch_back, cudaMemPrefetchAsync(fake_gpu(0), 8, static_cast<Passed>(-1), 7, 0))
CALL(prefetch_to_host, cudaMemPrefetchAsync_v2(fake_gpu(0), 8, 2, 0, 7))
CALL(wait_ptsz, cudaStreamSynchronize_ptsz(g_stream))
CALL(allocate_async, void* memory; cudaMallocAsync(&memory, 9, g_stream))
CALL(allocate_managed, void* memory; cudaMallocManaged(&memory, 9, 1))
CALL(free_pinned, cudaFreeHost(fake_pinned()))
