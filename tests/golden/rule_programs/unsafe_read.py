"""Results go down with `non_blocking=True` and are read at once: what is read may be the result of an earlier step.

Says: nothing waits for this copy before its data can be read; wait for an event.
Silent: an event is waited for first.
"""

import torch

WIDTH = 1024


def inputs(device):
    return torch.randn(WIDTH, WIDTH, device=device), torch.empty(WIDTH, WIDTH).pin_memory()


def positive(device):
    x, host = inputs(device)
    highest = []

    def step(i):
        host.copy_(x.mm(x), non_blocking=True)  # <- site
        highest.append(float(host.max()))

    return step


def near(device):
    x, host = inputs(device)
    arrived = torch.cuda.Event()
    highest = []

    def step(i):
        host.copy_(x.mm(x), non_blocking=True)
        arrived.record()
        arrived.synchronize()
        highest.append(float(host.max()))

    return step
