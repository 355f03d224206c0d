"""Batches lie in ordinary memory, so each upload is staged by the driver while the host waits. Fixed: page-locked
batches and `non_blocking=True`.
"""

import torch
from workloads import layers

EDITS = ["pin@{line}"]
ROWS = 1024
WIDTH = 4096
DRY_RUN = {"ROWS": 8, "WIDTH": 32}


def inputs(device):
    torch.manual_seed(0)
    batches = [torch.randn(ROWS, WIDTH) for _ in range(8)]
    return batches, layers(WIDTH, 4, device), torch.zeros((), device=device)


def as_is(device):
    batches, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        x = batches[i % len(batches)].to(device)  # <- edit
        total.add_(model(x).mean())

    return step, lambda: total


def fixed(device):
    batches, model, total = inputs(device)
    batches = [batch.pin_memory() for batch in batches]

    @torch.no_grad()
    def step(i):
        x = batches[i % len(batches)].to(device, non_blocking=True)
        total.add_(model(x).mean())

    return step, lambda: total
