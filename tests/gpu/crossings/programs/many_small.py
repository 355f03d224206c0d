"""A thousand small uploads at one line: every one is counted."""

import torch

tensors = [torch.full((4,), float(i)) for i in range(1000)]
moved = [t.to("cuda", non_blocking=True) for t in tensors]  # <- T1
print(torch.stack(moved).sum().item())  # <- T2

# expect T1: h2d count=1000 bytes=16000 kinds=pageable->device op=aten::to
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
