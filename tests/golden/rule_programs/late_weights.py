"""Weights that live in host memory go up layer by layer, each right before it is used.

Says: the same six buffers in each step, with kernels between them; bring the next one up while this one is used.
Silent: all of them go up together, and the kernels follow.
"""

import torch

WIDTH = 2048
LAYERS = 6


def weights():
    return [torch.randn(WIDTH, WIDTH).pin_memory() for _ in range(LAYERS)]


def positive(device):
    layers = weights()
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        hidden = x
        for layer in layers:
            hidden = hidden.mm(layer.to(device, non_blocking=True))  # <- site
        hidden.sum().item()

    return step


def near(device):
    layers = weights()
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        hidden = x
        for layer in [layer.to(device, non_blocking=True) for layer in layers]:
            hidden = hidden.mm(layer)
        hidden.sum().item()

    return step
