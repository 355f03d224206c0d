"""histc without limits and bincount fetch the smallest and the largest value."""

import torch

x = torch.arange(100, dtype=torch.float32, device="cuda")
n = torch.arange(100, device="cuda")
print(torch.histc(x, bins=10).shape)  # <- T1
print(torch.histc(x, bins=10, min=0, max=100).shape)
print(torch.bincount(n).shape)  # <- T2

# expect T1: d2h count=2 bytes=8 kinds=device->pageable op=aten::histc blocked=2
# The smallest value by .cpu(), the largest by .item().
# expect T2: d2h count=1 bytes=8 kinds=device->pageable op=aten::bincount blocked=1
# expect T2: d2h count=1 bytes=8 kinds=device->pinned op=aten::bincount blocked=1
