"""A small network on a small batch: the GPU is done with each kernel before Python has launched the next.

Says: the step is bound by launches; capture it as a CUDA graph. It is about the step, not about a line.
Silent: the same network on a batch that keeps the GPU busy.
"""

import torch
from workloads import layers

WIDTH = 1024


def forward(device, rows):
    x = torch.randn(rows, WIDTH, device=device)
    model = layers(WIDTH, 12, device)

    @torch.no_grad()
    def step(i):
        model(x).mean()

    return step


def positive(device):
    return forward(device, 8)


def near(device):
    return forward(device, 8192)
