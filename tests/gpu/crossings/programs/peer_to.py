"""From one GPU to the other."""

import torch

x = torch.ones(16 << 20, device="cuda:0")
y = x.to("cuda:1")  # <- T1
z = torch.empty(16 << 20, device="cuda:0")
z.copy_(y, non_blocking=True)  # <- T2
torch.cuda.synchronize(0)
torch.cuda.synchronize(1)

# suite: gpus=2
# expect T1: p2p count=1 bytes=67108864 kinds=device->device op=aten::to blocked=0
# expect T2: p2p count=1 bytes=67108864 kinds=device->device op=aten::copy_ blocked=0
