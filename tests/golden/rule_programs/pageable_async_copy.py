"""`non_blocking=True` from pageable memory: the driver stages the copy while the host waits.

Says: the copies of this line are asynchronous in name only; page-lock the batches.
Silent: 4 KiB from pageable memory, which the driver takes along without a wait.
"""

import torch

ELEMENTS = 4 << 20


def upload(device, elements):
    batches = [torch.randn(elements) for _ in range(2)]
    weights = torch.randn(2048, 2048, device=device)

    def step(i):
        x = batches[i % 2].to(device, non_blocking=True)  # <- site
        weights.mm(weights).add_(x[0])

    return step


def positive(device):
    return upload(device, ELEMENTS)


def near(device):
    return upload(device, 1024)
