"""multinomial without replacement checks its probabilities on the host."""

import torch

torch.manual_seed(0)
p = torch.ones(10, device="cuda")
print(torch.multinomial(p, 3).shape)  # <- T1

# expect T1: d2h count=2 bytes=2 kinds=device->pinned op=aten::multinomial blocked=2
