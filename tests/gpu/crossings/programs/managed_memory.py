"""Managed memory, 64 KiB of it: copies into and out of it."""

import ctypes

import _cuda

SIZE = 64 << 10
cuda = _cuda.runtime()
host = ctypes.create_string_buffer(b"x" * (SIZE - 1), SIZE)
managed = _cuda.allocate(cuda.cudaMallocManaged, SIZE, 1)
cuda.cudaMemcpy(managed, host, SIZE, _cuda.HOST_TO_DEVICE)  # <- T1
cuda.cudaMemcpy(host, managed, SIZE, _cuda.DEVICE_TO_HOST)  # <- T2
print(host.raw[:8])

# What the driver migrates besides is its own business, and nothing else counts it.
# suite: count=none
# expect native: any
# expect T1: h2d count=1 bytes=65536 kinds=pageable->managed op=none
# expect T2: d2h count=1 bytes=65536 kinds=managed->pageable op=none
