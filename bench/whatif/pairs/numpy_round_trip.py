"""Values go down to NumPy for one line of arithmetic and up again. Fixed: the same arithmetic on the device."""

import numpy as np
import torch
from workloads import layers

EDITS = ["keep_on_device"]
ROWS = 512
WIDTH = 2048
DRY_RUN = {"ROWS": 8, "WIDTH": 16}


def inputs(device):
    torch.manual_seed(0)
    x = torch.randn(ROWS, WIDTH, device=device)
    return x, layers(WIDTH, 8, device), layers(WIDTH, 8, device), torch.zeros((), device=device)


def as_is(device):
    x, encoder, decoder, total = inputs(device)

    @torch.no_grad()
    def step(i):
        values = encoder(x).cpu().numpy()
        values = np.clip(values, 0.01, 0.1)
        total.add_(decoder(torch.from_numpy(values).to(device)).mean())

    return step, lambda: total


def fixed(device):
    x, encoder, decoder, total = inputs(device)

    @torch.no_grad()
    def step(i):
        values = encoder(x)
        values = values.clamp(0.01, 0.1)
        total.add_(decoder(values).mean())

    return step, lambda: total
