"""Code that once timed the step still synchronises twice in each. Fixed: without."""

import time

import torch
from workloads import Sampler, layers

EDITS = ["remove_sync@{first}", "remove_sync@{second}"]
TOTAL = 50_000
ROWS = 512
WIDTH = 2048
DRY_RUN = {"TOTAL": 100, "ROWS": 8, "WIDTH": 16}


class Model:
    def __init__(self, device):
        torch.manual_seed(0)
        self.device = device
        self.data = torch.randn(TOTAL, WIDTH, device=device)
        self.model = layers(WIDTH, 16, device)
        self.sampler = Sampler(TOTAL)
        self.total = torch.zeros((), device=device)

    def run(self):
        x = self.data[self.sampler.draw(ROWS).to(self.device, non_blocking=True)]
        self.total.add_(self.model(x).mean())


def as_is(device):
    model = Model(device)
    seconds = 0.0

    @torch.no_grad()
    def step(i):
        nonlocal seconds
        torch.cuda.synchronize()  # <- edit first
        start = time.perf_counter()
        model.run()
        torch.cuda.synchronize()  # <- edit second
        seconds += time.perf_counter() - start

    return step, lambda: model.total


def fixed(device):
    model = Model(device)

    @torch.no_grad()
    def step(i):
        model.run()

    return step, lambda: model.total
