"""Memory taken and given back: no transfer."""

import torch

x = torch.empty(1 << 20, device="cuda")
del x
torch.cuda.empty_cache()
print(torch.cuda.memory_allocated())

# expect nothing
