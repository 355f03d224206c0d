"""timm: create_loader() on images made here, with its own PrefetchLoader and without."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from common import Clock, Trained, Wrap, exactly, seed_all

NEEDS = ("timm",)
SIZE = 64


class Pictures(torch.utils.data.Dataset):
    """PIL images, to which timm gives a transform."""

    def __init__(self) -> None:
        self.transform: Any = None

    def __len__(self) -> int:
        return 128

    def __getitem__(self, index: int) -> tuple[Any, int]:
        from PIL import Image

        pixels = numpy.random.RandomState(index).randint(0, 255, (80, 80, 3), dtype=numpy.uint8)
        return self.transform(Image.fromarray(pixels)), index % 10


def _train(wrap: Wrap, device: torch.device, has_prefetcher: bool) -> Trained:
    import timm
    import timm.data

    seed_all(4)
    model = timm.create_model("resnet10t", pretrained=False, num_classes=10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = timm.data.create_loader(
        Pictures(), input_size=(3, SIZE, SIZE), batch_size=16, is_training=True, use_prefetcher=has_prefetcher,
        num_workers=2, persistent_workers=False, device=device, pin_memory=has_prefetcher and device.type == "cuda",
        re_prob=0.25 if has_prefetcher else 0.0, re_mode="pixel",
    )  # fmt: skip
    if wrap is not None:
        loader = wrap(loader)
    losses = []
    clock = Clock(device)
    for _ in range(2):
        for images, classes in loader:
            if wrap is None and not has_prefetcher:
                images, classes = images.to(device), classes.to(device)
            loss = torch.nn.functional.cross_entropy(model(images), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return Trained(exactly(losses), model, clock.step_ms(len(losses)))


def train(wrap: Wrap, device: torch.device) -> Trained:
    return _train(wrap, device, has_prefetcher=False)


def train_with_prefetch_loader(wrap: Wrap, device: torch.device) -> Trained:
    return _train(wrap, device, has_prefetcher=True)
