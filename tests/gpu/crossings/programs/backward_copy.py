"""The gradient of an upload is a download: on autograd's thread, without a Python frame, due to the forward line."""

import torch

x = torch.ones(1000, requires_grad=True)


def forward():
    y = x.to("cuda")  # <- T1
    return (y * y).sum()


forward().backward()
print(x.grad.sum().item())

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=forward
# expect native: d2h count=1 bytes=4000 kinds=device->pageable forward=T1 phase=backward blocked=1
