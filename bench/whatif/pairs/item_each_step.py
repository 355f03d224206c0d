"""The running loss is kept on the host: `.item()` in each step makes the host wait until the GPU is done, and then the
GPU wait until the host has drawn the next rows. Fixed: it adds up on the device and is read at the end.
"""

import torch
import torch.nn.functional as F
from workloads import Sampler, layers

EDITS = ["remove_sync@{line}"]
STEPS = 40
TOTAL = 50_000
ROWS = 512
WIDTH = 2048
DRY_RUN = {"TOTAL": 100, "ROWS": 8, "WIDTH": 16}
RTOL = 1e-3  # sums in double on the host, in float on the device


class Training:
    def __init__(self, device):
        torch.manual_seed(0)
        self.device = device
        self.data = torch.randn(TOTAL, WIDTH, device=device)
        self.model = layers(WIDTH, 16, device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.sampler = Sampler(TOTAL)

    def loss(self):
        x = self.data[self.sampler.draw(ROWS).to(self.device, non_blocking=True)]
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(x), x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def as_is(device):
    training = Training(device)
    running = 0.0

    def step(i):
        nonlocal running
        running += training.loss().item()  # <- edit

    return step, lambda: torch.tensor(running)


def fixed(device):
    training = Training(device)
    running = torch.zeros((), device=device)

    def step(i):
        running.add_(training.loss())

    return step, lambda: running.cpu()
