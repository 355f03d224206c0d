"""cudaMemcpyBatchAsync: four copies in one call are four transfers."""

import ctypes

import _cuda

SIZE, N = 4096, 4
cuda = _cuda.runtime()
stream = ctypes.c_void_p()
cuda.cudaStreamCreate(ctypes.byref(stream))
source = _cuda.allocate(cuda.cudaMallocHost, N * SIZE)
target = _cuda.allocate(cuda.cudaMalloc, N * SIZE)
sources = (ctypes.c_void_p * N)(*(source + i * SIZE for i in range(N)))
targets = (ctypes.c_void_p * N)(*(target + i * SIZE for i in range(N)))
sizes = (ctypes.c_size_t * N)(*[SIZE] * N)
attributes = _cuda.CopyAttributes(order=1)  # in stream order
first_of_attributes = ctypes.c_size_t(0)
one = ctypes.byref(first_of_attributes)
cuda.cudaMemcpyBatchAsync(targets, sources, sizes, N, ctypes.byref(attributes), one, 1, stream)  # <- T1
cuda.cudaStreamSynchronize(stream)  # <- S1

# The independent count is the program's own: torch.profiler shows a batch as one event.
# suite: count=truth
# expect T1: h2d count=4 bytes=16384 kinds=pinned->device op=none api=cudaMemcpyBatchAsync
# expect S1: sync count=1 api=cudaStreamSynchronize
