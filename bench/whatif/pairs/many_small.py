"""Two hundred small tensors go up one by one, each with the fixed cost of a blocking copy. Fixed: packed into one
tensor on the host, taken apart on the device.
"""

import torch
from workloads import layers

EDITS = ["merge_copies@{line}"]
COUNT = 200
LENGTH = 4096
STEPS = 20
DRY_RUN = {"COUNT": 10, "LENGTH": 32}


def inputs(device):
    torch.manual_seed(0)
    parts = [torch.randn(LENGTH) for _ in range(COUNT)]
    return parts, layers(LENGTH, 12, device), torch.zeros((), device=device)


def as_is(device):
    parts, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        rows = [part.to(device) for part in parts]  # <- edit
        total.add_(model(torch.stack(rows)).mean())

    return step, lambda: total


def fixed(device):
    parts, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        rows = list(torch.cat(parts).to(device).split(LENGTH))
        total.add_(model(torch.stack(rows)).mean())

    return step, lambda: total
