"""`empty_cache()` in each step: CUDA waits for the GPU to free memory that the next step allocates again.

Says: the frees on this line synchronise.
Silent: once, before the first step, after which memory is reused.
"""

import torch
from workloads import layers

WARM_STEPS = 0


def inputs(device):
    return torch.randn(2048, 2048, device=device), layers(2048, 3, device)


def positive(device):
    x, model = inputs(device)

    @torch.no_grad()
    def step(i):
        model(x).mean()
        torch.cuda.empty_cache()  # <- site

    return step


def near(device):
    x, model = inputs(device)

    @torch.no_grad()
    def step(i):
        if i == 0:
            torch.cuda.empty_cache()
        model(x).mean()

    return step
