"""Numba: to_device and copy_to_host, through the driver API."""

import numpy as np
from numba import cuda

x = np.ones(1 << 20, dtype=np.float32)
device = cuda.to_device(x)  # <- T1
print(device.copy_to_host().sum())  # <- T2

# suite: needs=numba
# expect T1: h2d count=1 bytes=4194304 kinds=pageable->device op=none
# expect T2: d2h count=1 bytes=4194304 kinds=device->pageable op=none blocked=1
