"""copy_ from the GPU: pageable and pinned, blocking and not. Into pageable memory the call always waits."""

import torch

pageable = torch.zeros(16 << 20)
pinned = torch.zeros(16 << 20).pin_memory()
x = torch.ones(16 << 20, device="cuda")
torch.cuda.synchronize()
pageable.copy_(x)  # <- T1
pageable.copy_(x, non_blocking=True)  # <- T2
pinned.copy_(x)  # <- T3
pinned.copy_(x, non_blocking=True)  # <- T4
torch.cuda.synchronize()
print(pageable.sum().item(), pinned.sum().item())

# expect T1: d2h count=1 bytes=67108864 kinds=device->pageable op=aten::copy_ blocked=1
# expect T2: d2h count=1 bytes=67108864 kinds=device->pageable op=aten::copy_ blocked=1
# expect T3: d2h count=1 bytes=67108864 kinds=device->pinned op=aten::copy_ blocked=1
# expect T4: d2h count=1 bytes=67108864 kinds=device->pinned op=aten::copy_ blocked=0
