"""An optimizer that reads a norm on every step."""

import torch


class NormSgd(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                norm = parameter.grad.norm().item()  # <- T1
                parameter.add_(parameter.grad, alpha=-0.1 / norm)


weight = torch.nn.Parameter(torch.ones(100, device="cuda"))
optimizer = NormSgd([weight])
for _ in range(5):
    weight.grad = torch.ones_like(weight)
    optimizer.step()

# expect T1: d2h count=5 bytes=20 kinds=device->pinned op=aten::item blocked=5 function=NormSgd.step phase=optimizer
