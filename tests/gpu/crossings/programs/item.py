"""The ways to read one number: item, int, float, an index, a format string."""

import torch

x = torch.ones((), device="cuda")
n = torch.full((), 3, device="cuda")
print(x.item())  # <- T1
print(float(x))  # <- T2
print(int(n))  # <- T3
print(list(range(n)))  # <- T4
print(f"{x:.2f}")  # <- T5

# expect T1: d2h count=1 bytes=4 kinds=device->pinned op=aten::item api=cudaMemcpyAsync blocked=1
# expect T1: sync count=1 api=cudaStreamSynchronize
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
# expect T3: d2h count=1 bytes=8 kinds=device->pinned op=aten::item blocked=1
# expect T4: d2h count=1 bytes=8 kinds=device->pinned op=aten::item blocked=1
# expect T5: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
