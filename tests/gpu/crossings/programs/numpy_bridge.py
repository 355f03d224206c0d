"""From and to NumPy: from_numpy and as_tensor up, cpu().numpy() down."""

import numpy as np
import torch

array = np.arange(1000, dtype=np.float32)
a = torch.from_numpy(array).cuda()  # <- T1
b = torch.as_tensor(array, device="cuda")  # <- T2
print((a + b).cpu().numpy().sum())  # <- T3

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
# expect T2: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
# expect T3: d2h count=1 bytes=4000 kinds=device->pageable op=aten::to blocked=1
