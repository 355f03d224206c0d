"""repeat_interleave with counts on the GPU fetches their sum and whether one is negative; told the size, nothing."""

import torch

x = torch.arange(4, device="cuda")
counts = torch.arange(4, device="cuda")
print(torch.repeat_interleave(x, counts).shape)  # <- T1
print(torch.repeat_interleave(x, counts, output_size=6).shape)

# expect T1: d2h count=2 bytes=9 kinds=device->pinned op=aten::repeat_interleave blocked=2
