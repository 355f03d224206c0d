"""The loss is read in each step.

Says: `.item()` on this line waits for all work before it.
Silent: read once, after the last step.
"""

import torch
from workloads import layers


def positive(device):
    x = torch.randn(512, 1024, device=device)
    model = layers(1024, 8, device)
    history = []

    @torch.no_grad()
    def step(i):
        history.append(model(x).mean().item())  # <- site

    return step


def near(device):
    x = torch.randn(512, 1024, device=device)
    model = layers(1024, 8, device)
    total = torch.zeros((), device=device)

    @torch.no_grad()
    def step(i):
        total.add_(model(x).mean())

    return step, lambda: total.item()
