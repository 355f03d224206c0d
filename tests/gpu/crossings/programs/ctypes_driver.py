"""The driver API called through ctypes: nothing but libcuda in the process."""

import ctypes

import _cuda

SIZE = 8 << 20
cuda = _cuda.driver()
cuda.cuInit(0)
cuda.cuCtxSetCurrent(_cuda.allocate(cuda.cuDevicePrimaryCtxRetain, 0))
host = ctypes.create_string_buffer(b"x" * (SIZE - 1), SIZE)
a = _cuda.allocate(cuda.cuMemAlloc_v2, SIZE)
b = _cuda.allocate(cuda.cuMemAlloc_v2, SIZE)

cuda.cuMemcpyHtoD_v2(a, host, SIZE)  # <- T1
cuda.cuMemcpyHtoDAsync_v2(a, host, 4096, None)  # <- T2
cuda.cuMemcpyDtoD_v2(b, a, SIZE)  # <- T3
cuda.cuMemsetD8_v2(b, 7, 1000)  # <- T4
cuda.cuMemsetD32_v2(b, 7, 1000)  # <- T5
cuda.cuMemcpyDtoH_v2(host, a, SIZE)  # <- T6
cuda.cuCtxSynchronize()  # <- S1
print(host.raw[:8])

# expect T1: h2d count=1 bytes=8388608 kinds=pageable->device op=none
# expect T2: h2d count=1 bytes=4096 kinds=pageable->device op=none
# expect T3: d2d count=1 bytes=8388608 kinds=device->device op=none
# expect T4: memset count=1 bytes=1000 op=none
# expect T5: memset count=1 bytes=4000 op=none
# expect T6: d2h count=1 bytes=8388608 kinds=device->pageable op=none blocked=1
# expect S1: sync count=1 api=cuCtxSynchronize
