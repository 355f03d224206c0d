"""A tensor as a condition."""

import torch

x = torch.ones((), device="cuda")
if x > 0:  # <- T1
    print("positive")
while not x:  # <- T2
    pass
assert (x == 1).all()  # <- T3

# expect T1: d2h count=1 bytes=1 kinds=device->pinned op=aten::is_nonzero blocked=1
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::is_nonzero blocked=1
# Reducing a tensor without dimensions copies it.
# expect T3: d2d count=1 bytes=1 op=aten::all blocked=0
# expect T3: d2h count=1 bytes=1 kinds=device->pinned op=aten::is_nonzero blocked=1
