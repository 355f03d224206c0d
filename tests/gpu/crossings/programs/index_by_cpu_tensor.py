"""A GPU tensor indexed by a CPU tensor: the index is uploaded first."""

import torch

x = torch.arange(100, dtype=torch.float32, device="cuda")
index = torch.tensor([3, 1, 2])
print(x[index].shape)  # <- T1

# expect T1: h2d count=1 bytes=24 kinds=pageable->device op=aten::index blocked=1
