"""A table that nobody changes goes up in each step.

Says: the same bytes from the same buffer went up ten times; upload once, before the loop.
Silent: the same buffer with other content each time.
"""

import torch

WIDTH = 1024


def positive(device):
    table = torch.randn(WIDTH, WIDTH)
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        x.mm(table.to(device))  # <- site

    return step


def near(device):
    table = torch.randn(WIDTH, WIDTH)
    x = torch.randn(WIDTH, WIDTH, device=device)

    def step(i):
        table.add_(1)
        x.mm(table.to(device))

    return step
