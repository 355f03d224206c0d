"""A training step of a small network on a small batch: the GPU is done with each kernel before Python has launched the
next. Fixed: the step is captured once as a CUDA graph and launched with one call.
"""

import copy

import torch
import torch.nn.functional as F
import workloads
from torch import nn

EDITS = ["graph_launch"]
STEPS = 40
BATCH = 64
DRY_RUN = {"BATCH": 8}
RTOL = 1e-2  # weights after a thousand updates whose sums may be taken in another order


class Training:
    def __init__(self, device):
        torch.manual_seed(0)
        self.x = torch.randn(BATCH, 1, 28, 28, device=device)
        self.target = torch.randint(10, (BATCH,), device=device)
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
        ).to(device)  # fmt: skip
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.loss = torch.zeros((), device=device)

    def step(self):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())


def as_is(device):
    training = Training(device)

    def step(i):
        training.step()

    return step, lambda: training.loss


def fixed(device):
    training = Training(device)
    before = copy.deepcopy(training.model.state_dict())
    replay = workloads.capture(training.step)
    training.model.load_state_dict(before)

    def step(i):
        replay()

    return step, lambda: training.loss
