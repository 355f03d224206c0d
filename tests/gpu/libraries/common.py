"""What the training loops share: seeds, the random model's images, and what a loop returns."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch

# None: the plain loop. Else what a user puts around a loader: tp.prefetch(loader, device).
Wrap = Callable[[Any], Any] | None


@dataclasses.dataclass
class Trained:
    """What one epoch gave."""

    numbers: list[str]  # the loss of every step, and what else must be the same, to the last bit
    model: torch.nn.Module
    step_ms: float


def seed_all(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def exactly(values: list[Any]) -> list[str]:
    """Numbers to the last bit."""
    return [float(value).hex() for value in values]


class Clock:
    """Times a number of steps, from an idle GPU to an idle GPU."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._settle()
        self._started = time.perf_counter()

    def step_ms(self, steps: int) -> float:
        self._settle()
        return (time.perf_counter() - self._started) * 1e3 / steps

    def _settle(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()


class Images(torch.utils.data.Dataset):
    """Images and their classes, the same in every epoch."""

    def __init__(self, length: int, size: int = 32) -> None:
        self._length = length
        self._size = size

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        return torch.rand(3, self._size, self._size, generator=generator), index % 10


def small_network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(10),
    )
