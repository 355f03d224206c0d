"""Page-locking memory moves nothing between CPU and GPU."""

import torch

x = torch.ones(1 << 20)
y = x.pin_memory()
z = torch.empty(1 << 20, pin_memory=True)
z.copy_(y)
print(y.is_pinned(), z.is_pinned())

# expect nothing
