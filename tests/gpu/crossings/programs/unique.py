"""unique fetches the number of values."""

import torch

x = torch.arange(100, device="cuda") // 10
print(torch.unique(x).shape)  # <- T1
print(torch.unique_consecutive(x).shape)  # <- T2

# expect T1: d2h count=1 bytes=8 kinds=device->pinned blocked=1
# expect T2: d2h count=1 bytes=8 kinds=device->pinned blocked=1
