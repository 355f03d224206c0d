"""CPU numbers and CPU scalar tensors in GPU operators travel with the launch: there is no transfer."""

import torch

x = torch.ones(100, device="cuda")
half = torch.tensor(0.5)
y = x * 2.0 + half
y.add_(half).mul_(3)
x.fill_(half)
print(y.shape)

# expect nothing
