"""copy_ to the GPU: pageable and pinned, blocking and not."""

import torch

pageable = torch.ones(16 << 20)
pinned = torch.ones(16 << 20).pin_memory()
x = torch.empty(16 << 20, device="cuda")
torch.cuda.synchronize()
x.copy_(pageable)  # <- T1
x.copy_(pageable, non_blocking=True)  # <- T2
torch.cuda.synchronize()
x.copy_(pinned)  # <- T3
x.copy_(pinned, non_blocking=True)  # <- T4
torch.cuda.synchronize()

# expect T1: h2d count=1 bytes=67108864 kinds=pageable->device op=aten::copy_ blocked=1
# expect T1: sync count=1
# expect T2: h2d count=1 bytes=67108864 kinds=pageable->device op=aten::copy_
# expect T3: h2d count=1 bytes=67108864 kinds=pinned->device op=aten::copy_ blocked=1
# expect T3: sync count=1
# expect T4: h2d count=1 bytes=67108864 kinds=pinned->device op=aten::copy_ blocked=0
