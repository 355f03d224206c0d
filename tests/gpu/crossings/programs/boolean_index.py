"""Reading by a boolean mask fetches a count; writing a number through one does not."""

import torch

x = torch.arange(100, dtype=torch.float32, device="cuda")
mask = x > 30
print(x[mask].shape)  # <- T1
x[mask] = 0.0

# expect T1: d2h count=1 bytes=4 kinds=device->pinned op=aten::index blocked=1
