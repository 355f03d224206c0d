"""A result goes down and up again as it was.

Says: these bytes came from the GPU and went back unchanged; keep them there.
Silent: the host changes them in between.
"""

import torch

WIDTH = 1024


def positive(device):
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        values = x.mm(x).cpu()
        x.mm(values.to(device))  # <- site

    return step


def near(device):
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        values = x.mm(x).cpu()
        values.clamp_(-1, 1)
        x.mm(values.to(device))

    return step
