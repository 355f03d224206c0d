"""Comparisons that answer with a Python bool."""

import torch

x = torch.ones(100, device="cuda")
y = torch.ones(100, device="cuda")
print(torch.equal(x, y))  # <- T1
print(torch.allclose(x, y))  # <- T2
print((x > 0).any().item())  # <- T3
print(bool((x == y).all()))  # <- T4

# expect T1: d2h count=1 bytes=1 kinds=device->pinned op=aten::equal blocked=1
# expect T2: d2h count=1 bytes=1 kinds=device->pinned op=aten::allclose blocked=1
# expect T3: d2h count=1 bytes=1 kinds=device->pinned op=aten::item blocked=1
# expect T4: d2h count=1 bytes=1 kinds=device->pinned op=aten::is_nonzero blocked=1
