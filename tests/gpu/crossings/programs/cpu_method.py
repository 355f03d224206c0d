"""Tensor.cpu, and Tensor.to("cpu") that does not block: the second lands in pinned memory."""

import torch

x = torch.ones(16 << 20, device="cuda")
a = x.cpu()  # <- T1
b = x.to("cpu", non_blocking=True)  # <- T2
torch.cuda.synchronize()  # <- S1
print(a.sum().item(), b.sum().item())

# expect T1: d2h count=1 bytes=67108864 kinds=device->pageable op=aten::to blocked=1
# expect T1: sync count=1 api=cudaStreamSynchronize
# expect T2: d2h count=1 bytes=67108864 kinds=device->pinned op=aten::to blocked=0
# expect S1: sync count=1
