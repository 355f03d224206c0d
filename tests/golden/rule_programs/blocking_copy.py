"""Page-locked batches that go up without `non_blocking=True`: the host waits although nothing forces it to.

Says: the copies of this line block; add non_blocking=True.
Silent: with it.
"""

import torch

ELEMENTS = 4 << 20


def upload(device, **options):
    batches = [torch.randn(ELEMENTS).pin_memory() for _ in range(2)]
    weights = torch.randn(2048, 2048, device=device)

    def step(i):
        x = batches[i % 2].to(device, **options)  # <- site
        for _ in range(3):
            weights.mm(weights).add_(x[0])

    return step


def positive(device):
    return upload(device)


def near(device):
    return upload(device, non_blocking=True)
