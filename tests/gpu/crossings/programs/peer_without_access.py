"""Between GPUs without peer access, by the runtime API: the driver stages it through the host."""

import _cuda

SIZE = 16 << 20
cuda = _cuda.runtime()
cuda.cudaSetDevice(1)
b = _cuda.allocate(cuda.cudaMalloc, SIZE)
cuda.cudaSetDevice(0)
a = _cuda.allocate(cuda.cudaMalloc, SIZE)
cuda.cudaMemcpyPeerAsync(b, 1, a, 0, SIZE, None)  # <- T1
cuda.cudaDeviceSynchronize()

# suite: gpus=2
# expect T1: d2h count=1 bytes=16777216 kinds=device->device op=none
# expect T1: h2d count=1 bytes=16777216 kinds=device->device op=none
