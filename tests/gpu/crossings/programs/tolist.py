"""Tensor.tolist: one copy of the whole tensor."""

import torch

x = torch.arange(10, device="cuda")
print(x.tolist())  # <- T1

# expect T1: d2h count=1 bytes=80 kinds=device->pageable op=aten::to blocked=1
