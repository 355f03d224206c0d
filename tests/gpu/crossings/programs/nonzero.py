"""Operators whose output size depends on the values: each fetches a count."""

import torch

x = torch.arange(100, device="cuda")
print(x.nonzero().shape)  # <- T1
print(torch.where(x > 50)[0].shape)  # <- T2
print(torch.masked_select(x, x > 10).shape)  # <- T3
print(torch.argwhere(x).shape)  # <- T4

# expect T1: d2h count=1 bytes=4 kinds=device->pinned op=aten::nonzero blocked=1
# expect T1: sync count=1
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::where blocked=1
# expect T3: d2h count=1 bytes=4 kinds=device->pinned op=aten::masked_select blocked=1
# expect T4: d2h count=1 bytes=4 kinds=device->pinned op=aten::argwhere blocked=1
