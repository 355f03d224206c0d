"""The same host tensor goes up in every turn of the loop, though nobody changes it. Fixed: once, before the loop."""

import torch

EDITS = ["hoist_upload@{line}"]
WIDTH = 4096
DRY_RUN = {"WIDTH": 64}


def inputs(device):
    torch.manual_seed(0)
    table = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
    batch = torch.randn(WIDTH, WIDTH, device=device)
    return table, batch, torch.zeros((), device=device)


def as_is(device):
    table, batch, total = inputs(device)

    def step(i):
        weights = table.to(device)  # <- edit
        total.add_((batch @ weights).abs().mean())

    return step, lambda: total


def fixed(device):
    table, batch, total = inputs(device)
    weights = table.to(device)

    def step(i):
        total.add_((batch @ weights).abs().mean())

    return step, lambda: total
