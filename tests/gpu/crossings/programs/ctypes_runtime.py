"""The runtime API called through ctypes: no framework, no operator, the lines all the same."""

import ctypes

import _cuda

SIZE = 8 << 20
cuda = _cuda.runtime()
pageable = ctypes.create_string_buffer(b"x" * (SIZE - 1), SIZE)
pinned = _cuda.allocate(cuda.cudaMallocHost, SIZE)
a = _cuda.allocate(cuda.cudaMalloc, SIZE)
b = _cuda.allocate(cuda.cudaMalloc, SIZE)

cuda.cudaMemcpy(a, pageable, SIZE, _cuda.HOST_TO_DEVICE)  # <- T1
cuda.cudaMemcpy(b, a, SIZE, _cuda.DEVICE_TO_DEVICE)  # <- T2
cuda.cudaMemcpy(pinned, b, SIZE, _cuda.DEVICE_TO_HOST)  # <- T3
cuda.cudaMemcpyAsync(a, pinned, SIZE, _cuda.DEFAULT, None)  # <- T4
cuda.cudaMemcpy2D(b, 512, pinned, 1024, 256, 64, _cuda.HOST_TO_DEVICE)  # <- T5
cuda.cudaMemset(a, 7, SIZE)  # <- T6
cuda.cudaMemsetAsync(a, 7, 4096, None)  # <- T7
cuda.cudaMemcpy(pageable, b, SIZE, _cuda.DEVICE_TO_HOST)  # <- T8
cuda.cudaDeviceSynchronize()  # <- S1
print(pageable.raw[:8])

# expect T1: h2d count=1 bytes=8388608 kinds=pageable->device op=none api=cudaMemcpy
# expect T2: d2d count=1 bytes=8388608 kinds=device->device op=none api=cudaMemcpy
# expect T3: d2h count=1 bytes=8388608 kinds=device->pinned op=none blocked=1
# expect T4: h2d count=1 bytes=8388608 kinds=pinned->device op=none api=cudaMemcpyAsync blocked=0
# expect T5: h2d count=1 bytes=16384 kinds=pinned->device op=none api=cudaMemcpy2D blocked=1
# expect T6: memset count=1 bytes=8388608 op=none api=cudaMemset
# expect T7: memset count=1 bytes=4096 op=none api=cudaMemsetAsync
# expect T8: d2h count=1 bytes=8388608 kinds=device->pageable op=none blocked=1
# expect S1: sync count=1 api=cudaDeviceSynchronize
