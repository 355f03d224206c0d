"""A hook that reads a gradient: a transfer in the backward pass with a Python line of its own."""

import torch


def watch(gradient):
    seen.append(gradient.sum().item())  # <- T1


seen = []
x = torch.ones(1000, device="cuda", requires_grad=True)
y = x * 2
y.register_hook(watch)
y.sum().backward()
print(seen)

# expect T1: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1 function=watch phase=backward
