"""300 MiB of pageable memory: however the driver cuts it, one transfer each way."""

import torch

x = torch.ones(75 << 20)
y = x.to("cuda")  # <- T1
print(y.cpu()[-1].item())  # <- T2

# expect T1: h2d count=1 bytes=314572800 kinds=pageable->device op=aten::to blocked=1
# expect T2: d2h count=1 bytes=314572800 kinds=device->pageable op=aten::to blocked=1
