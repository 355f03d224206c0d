"""Copies that change the type: a blocking upload converts on the CPU, one that does not block on the GPU."""

import torch

x = torch.ones(1000, dtype=torch.float64)
y = x.to("cuda", torch.float32)  # <- T1
z = x.to("cuda", torch.float32, non_blocking=True)  # <- T2
w = y.to("cpu", torch.float64)  # <- T3
torch.cuda.synchronize()
print(w.sum().item(), z.shape)

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
# expect T2: h2d count=1 bytes=8000 kinds=pageable->device op=aten::to
# expect T3: d2h count=1 bytes=4000 kinds=device->pageable op=aten::to blocked=1
