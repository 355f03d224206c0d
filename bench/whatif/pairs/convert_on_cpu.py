"""Images become floats on the CPU, and four times the bytes go up. Fixed: bytes go up and become floats on the GPU."""

import torch
from torch import nn
from workloads import layers

EDITS = ["convert_on_device@{line}"]
BATCH = 64
SIDE = 128
WIDTH = 4096
DRY_RUN = {"BATCH": 4, "SIDE": 16, "WIDTH": 32}


def inputs(device):
    torch.manual_seed(0)
    batches = [torch.randint(256, (BATCH, 3, SIDE, SIDE), dtype=torch.uint8) for _ in range(8)]
    model = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(3 * (SIDE // 4) ** 2, WIDTH))
    return batches, nn.Sequential(model, layers(WIDTH, 16, device)).to(device), torch.zeros((), device=device)


def as_is(device):
    batches, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        images = batches[i % len(batches)].float() / 255
        total.add_(model(images.to(device)).mean())  # <- edit

    return step, lambda: total


def fixed(device):
    batches, model, total = inputs(device)

    @torch.no_grad()
    def step(i):
        images = batches[i % len(batches)].to(device).float() / 255
        total.add_(model(images).mean())

    return step, lambda: total
