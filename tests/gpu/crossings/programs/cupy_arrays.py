"""CuPy: asarray stages through pinned memory of its own; get waits for the copy."""

import cupy
import numpy as np

x = cupy.asarray(np.ones(1000, dtype=np.float32))  # <- T1
print(x.get().sum())  # <- T2
print(cupy.asnumpy(x).sum())  # <- T3

# suite: needs=cupy
# expect T1: h2d count=1 bytes=4000 kinds=pinned->device op=none
# expect T2: d2h count=1 bytes=4000 kinds=device->pageable op=none blocked=1
# expect T3: d2h count=1 bytes=4000 kinds=device->pageable op=none blocked=1
