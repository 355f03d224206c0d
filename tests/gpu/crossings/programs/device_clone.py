"""Copies within the GPU: contiguous ones are copies, strided or converting ones are kernels."""

import torch

x = torch.ones(8192, 8192, device="cuda")
y = x.clone()  # <- T1
y.copy_(x)  # <- T2
z = x.t().contiguous()
h = x.half()
print(z.shape, h.shape)

# expect T1: d2d count=1 bytes=268435456 kinds=device->device op=aten::clone blocked=0
# expect T2: d2d count=1 bytes=268435456 kinds=device->device op=aten::copy_ blocked=0
