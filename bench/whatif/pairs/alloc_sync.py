"""`empty_cache()` in each step gives memory back to CUDA, which waits for the GPU, only to ask for it again in the next
step. Fixed: without; PyTorch reuses its memory by itself.
"""

import torch
from workloads import layers

EDITS = ["remove_allocation"]
ROWS = 2048
WIDTH = 2048
DRY_RUN = {"ROWS": 8, "WIDTH": 16}


def inputs(device):
    torch.manual_seed(0)
    return torch.randn(ROWS, WIDTH, device=device), layers(WIDTH, 8, device), torch.zeros((), device=device)


def as_is(device):
    x, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        total.add_(model(x).mean())
        torch.cuda.empty_cache()

    return step, lambda: total


def fixed(device):
    x, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        total.add_(model(x).mean())

    return step, lambda: total
