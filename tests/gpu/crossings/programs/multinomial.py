"""multinomial checks its probabilities on the GPU: nothing crosses."""

import torch

torch.manual_seed(0)
p = torch.ones(10, device="cuda")
print(torch.multinomial(p, 3).shape)

# expect nothing
