"""One element written: the number becomes a CPU tensor, is uploaded, and PyTorch waits. Into a slice: a kernel."""

import torch

x = torch.zeros(100, device="cuda")
x[0] = 3.0  # <- T1
x[1] = torch.tensor(0.5)  # <- T2
x[2:4] = 3.0
x[x > 100] = 0.0

# expect T1: h2d count=1 bytes=4 kinds=pageable->device op=aten::copy_ blocked=1
# expect T2: h2d count=1 bytes=4 kinds=pageable->device op=aten::copy_ blocked=1
