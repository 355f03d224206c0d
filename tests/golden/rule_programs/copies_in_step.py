"""A mask that is the same in each step is built on the CPU and uploaded each time.

Says: this upload belongs before the loop.
Silent: a mask that is another one in each step.
"""

import torch

WIDTH = 1024


def positive(device):
    x = torch.randn(WIDTH, WIDTH, device=device)
    mask = None

    def step(i):
        nonlocal mask  # so the next one is made while the last one lives, as in a plain loop
        mask = torch.ones(WIDTH, WIDTH).tril()
        x.mm(x).mul_(mask.to(device))  # <- site

    return step


def near(device):
    x = torch.randn(WIDTH, WIDTH, device=device)
    mask = None

    def step(i):
        nonlocal mask
        mask = torch.rand(WIDTH, WIDTH).round()
        x.mm(x).mul_(mask.to(device))

    return step
