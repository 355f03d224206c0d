"""`torch.cuda.synchronize()` after each step, and nobody reads anything.

Says: this synchronisation has no use.
Silent: one, after the last step.
"""

import torch
from workloads import layers


def positive(device):
    x = torch.randn(512, 1024, device=device)
    model = layers(1024, 8, device)

    @torch.no_grad()
    def step(i):
        model(x)
        torch.cuda.synchronize()  # <- site

    return step


def near(device):
    x = torch.randn(512, 1024, device=device)
    model = layers(1024, 8, device)

    @torch.no_grad()
    def step(i):
        model(x)

    return step, torch.cuda.synchronize
