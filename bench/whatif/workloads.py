"""What several pairs share: stacks of matrix products, Python's part of a step, a step captured as a CUDA graph."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch import nn


def layers(width: int, depth: int, device: str) -> nn.Sequential:
    """`depth` times a linear layer and a ReLU. The caller has set the seed."""
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width, device=device), nn.ReLU()) for _ in range(depth)))


class Sampler:
    """Draws the rows of the next batch in Python, as samplers do: the host's own work in a step."""

    def __init__(self, total: int, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.rows = range(total)

    def draw(self, count: int) -> torch.Tensor:
        return torch.tensor(self.random.sample(self.rows, count))


def capture(step: Callable[[], None]) -> Callable[[], None]:
    """`step` as a CUDA graph; calling the result replays it. `step` has run 3 times after this."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
