"""Every second column of a page-locked tensor goes up: PyTorch gathers it into a new, pageable tensor first.

Says: the source is not contiguous, so it is copied on the host before it crosses.
Silent: the first half of the rows, a view too, but contiguous.
"""

import torch

WIDTH = 2048


def inputs(device):
    return torch.randn(WIDTH, WIDTH).pin_memory(), torch.randn(WIDTH, WIDTH, device=device)


def positive(device):
    frames, weights = inputs(device)

    def step(i):
        x = frames[:, ::2].to(device, non_blocking=True)  # <- site
        weights.mm(x)

    return step


def near(device):
    frames, weights = inputs(device)

    def step(i):
        x = frames[: WIDTH // 2].to(device, non_blocking=True)
        x.mm(weights)

    return step
