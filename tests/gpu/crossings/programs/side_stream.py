"""Copies on a stream of their own, and a wait for that stream alone."""

import torch

source = torch.ones(16 << 20).pin_memory()
target = torch.empty(16 << 20).pin_memory()
x = torch.empty(16 << 20, device="cuda")
stream = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    x.copy_(source, non_blocking=True)  # <- T1
    target.copy_(x, non_blocking=True)  # <- T2
stream.synchronize()  # <- S1
print(target.sum().item())

# expect T1: h2d count=1 bytes=67108864 kinds=pinned->device op=aten::copy_ blocked=0
# expect T2: d2h count=1 bytes=67108864 kinds=device->pinned op=aten::copy_ blocked=0
# expect S1: sync count=1 api=cudaStreamSynchronize
