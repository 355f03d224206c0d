"""A transformer whose loss is read after every step for the progress bar, which drains the GPU every time. Fixed: the
losses stay on the device and are read together every 50 steps.
"""

import torch
import torch.nn.functional as F
from torch import nn
from workloads import Sampler

EDITS = ["remove_sync@{line}"]
STEPS = 60
BATCH = 48
LENGTH = 256
WIDTH = 512
VOCABULARY = 1000
EVERY = 50
DRY_RUN = {"BATCH": 2, "LENGTH": 8, "WIDTH": 16, "EVERY": 4}
RTOL = 1e-2  # losses after a thousand updates whose sums may be taken in another order


class Training:
    def __init__(self, device):
        torch.manual_seed(0)
        self.corpus = torch.randint(VOCABULARY, (100_000,), device=device)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.model = nn.Sequential(
            nn.Embedding(VOCABULARY, WIDTH),
            nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            nn.Linear(WIDTH, VOCABULARY),
        ).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.sampler = Sampler(len(self.corpus) - LENGTH - 1)

    def loss(self):
        starts = self.sampler.draw(BATCH).tolist()
        tokens = torch.stack([self.corpus[start : start + LENGTH + 1] for start in starts])
        self.optimizer.zero_grad()
        logits = self.model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def as_is(device):
    training = Training(device)
    shown = []

    def step(i):
        shown.append(training.loss().item())  # <- edit

    return step, lambda: torch.tensor(shown)


def fixed(device):
    training = Training(device)
    shown, losses = [], []

    def read():
        if losses:
            shown.extend(torch.stack(losses).tolist())
            losses.clear()
        return torch.tensor(shown)

    def step(i):
        losses.append(training.loss())
        if len(losses) == EVERY:
            read()

    return step, read
