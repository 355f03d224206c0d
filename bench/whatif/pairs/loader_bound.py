"""The data set decompresses each image in the main process while the GPU waits for the batch. Fixed: the images, which
fit into memory, are decompressed once before the loop.
"""

import zlib

import torch
from torch import nn
from workloads import layers

EDITS = ["faster_loader@{line}"]
IMAGES = 128
BATCH = 32
SIDE = 64
WIDTH = 8192
DRY_RUN = {"IMAGES": 16, "BATCH": 4, "SIDE": 8, "WIDTH": 64}


class Images(torch.utils.data.Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        images = torch.randint(16, (IMAGES, 3, SIDE, SIDE), generator=generator, dtype=torch.uint8)
        self.files = [zlib.compress(bytes(image.flatten().tolist())) for image in images]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        pixels = torch.frombuffer(bytearray(zlib.decompress(self.files[index])), dtype=torch.uint8)
        return pixels.view(3, SIDE, SIDE).float() / 16


def forever(data):
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=BATCH)


def inputs(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, WIDTH), layers(WIDTH, 8, device)).to(device)
    return Images(), model, torch.zeros((), device=device)


def as_is(device):
    images, model, total = inputs(device)
    loader = forever(images)

    @torch.no_grad()
    def step(i):
        x = next(loader).to(device)  # <- edit
        total.add_(model(x).mean())

    return step, lambda: total


def fixed(device):
    images, model, total = inputs(device)
    batches = list(torch.utils.data.DataLoader(images, batch_size=BATCH))

    @torch.no_grad()
    def step(i):
        x = batches[i % len(batches)].to(device)
        total.add_(model(x).mean())

    return step, lambda: total
