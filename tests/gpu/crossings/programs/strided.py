"""Tensors that are not contiguous: gathered first, then one copy; a transposed one crosses as it lies."""

import torch

x = torch.arange(10000, dtype=torch.float32).reshape(100, 100)
a = x.t().to("cuda")  # <- T1
b = x[:, ::2].to("cuda")  # <- T2
c = a[:, ::2].cpu()  # <- T3
a[:, ::2].copy_(x[:, ::2])  # <- T4
print(c.sum().item(), b.shape)

# expect T1: h2d count=1 bytes=40000 kinds=pageable->device op=aten::to blocked=1
# expect T2: h2d count=1 bytes=20000 kinds=pageable->device op=aten::to blocked=1
# expect T3: d2h count=1 bytes=20000 kinds=device->pageable op=aten::to blocked=1
# expect T4: h2d count=1 bytes=20000 kinds=pageable->device op=aten::copy_ blocked=1
