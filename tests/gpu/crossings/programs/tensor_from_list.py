"""A tensor made on the GPU from Python numbers: a pageable upload that waits."""

import torch

a = torch.tensor([1, 2, 3, 4], device="cuda")  # <- T1
b = torch.tensor(2.5, device="cuda")  # <- T2
c = a.new_tensor([5, 6])  # <- T3
print(a.shape, b.shape, c.shape)

# expect T1: h2d count=1 bytes=32 kinds=pageable->device op=aten::to blocked=1
# expect T2: h2d count=1 bytes=4 kinds=pageable->device op=aten::to blocked=1
# expect T3: h2d count=1 bytes=16 kinds=pageable->device op=aten::to blocked=1
