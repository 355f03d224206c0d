"""The data set decompresses each batch in the main process, and the GPU waits for it.

Says: the GPU waits for the loader; use workers, or load before the loop.
Silent: the same loader beside a GPU that has more to do than it, and uploads that do not wait.
"""

import zlib

import torch

SAMPLES = 16
PIXELS = 1 << 16
WIDTH = 4096


class Images(torch.utils.data.Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        image = torch.randint(16, (PIXELS,), generator=generator, dtype=torch.uint8)
        self.file = zlib.compress(bytes(image.tolist()))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return torch.frombuffer(bytearray(zlib.decompress(self.file)), dtype=torch.uint8).float()


def forever():
    images = Images()
    while True:
        yield from torch.utils.data.DataLoader(images, batch_size=SAMPLES // 2)  # <- site


def positive(device):
    loader = forever()

    def step(i):
        x = next(loader).to(device)
        x.mul_(2).sum()

    return step


def near(device):
    loader = forever()
    weights = torch.randn(WIDTH, WIDTH, device=device)
    slots = [torch.empty(SAMPLES // 2, PIXELS).pin_memory() for _ in range(2)]
    is_free = [torch.cuda.Event() for _ in range(2)]

    def step(i):
        batch = next(loader)
        is_free[i % 2].synchronize()
        slots[i % 2].copy_(batch)
        x = slots[i % 2].to(device, non_blocking=True)
        is_free[i % 2].record()
        x.mul_(2).sum()
        for _ in range(6):
            weights.mm(weights)

    return step
