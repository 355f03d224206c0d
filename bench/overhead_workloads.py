"""The programs whose slowdown bench/overhead.py measures: steps of real training, and a loop that reads a number."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))

import mnist  # noqa: E402


class Workload:
    """A step that ends with a number on the host, so that each step is complete when it returns."""

    uploads_per_step = 2

    def step(self) -> float:
        raise NotImplementedError

    def check(self, values: list[float]) -> None:
        """Raises when the results of a block, one for each step, cannot be right."""
        if not all(math.isfinite(value) for value in values):
            raise RuntimeError(f"a loss is not finite: {values}")


class Mnist(Workload):
    def __init__(self, batch: int, device: str) -> None:
        self.device = device
        self.data, self.target = mnist.generated_digits(batch)
        self.model = mnist.Net().to(device)
        self.optimizer = torch.optim.Adadelta(self.model.parameters(), lr=1.0)

    def step(self) -> float:
        data, target = self.data.to(self.device), self.target.to(self.device)
        self.optimizer.zero_grad()
        loss = F.nll_loss(self.model(data), target)
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Transformer(Workload):
    def __init__(self, device: str) -> None:
        self.device = device
        layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
        self.embedding = nn.Embedding(1000, 256).to(device)
        self.model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(device)
        self.head = nn.Linear(256, 1000).to(device)
        parameters = [*self.embedding.parameters(), *self.model.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-4)
        self.tokens = torch.randint(1000, (8, 64))
        self.target = torch.randint(1000, (8, 64))

    def step(self) -> float:
        tokens, target = self.tokens.to(self.device), self.target.to(self.device)
        self.optimizer.zero_grad()
        logits = self.head(self.model(self.embedding(tokens)))
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()


class ItemLoop(Workload):
    uploads_per_step = 0

    def __init__(self, device: str) -> None:
        self.counter = torch.zeros((), dtype=torch.int64, device=device)

    def step(self) -> float:
        self.counter.add_(1)
        return self.counter.item()

    def check(self, values: list[float]) -> None:
        if values != list(range(int(values[0]), int(values[0]) + len(values))):
            raise RuntimeError("the loop did not count by one")


class Graph(Workload):
    """A captured graph of as many kernels, which count to that number."""

    uploads_per_step = 0

    def __init__(self, kernels: int, device: str) -> None:
        self.kernels = kernels
        self.counter = torch.zeros((), dtype=torch.int64, device=device)
        self.replay = self.count
        if device == "cuda":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.count()
            self.replay = graph.replay

    def count(self) -> None:
        self.counter.zero_()
        for _ in range(self.kernels - 1):
            self.counter.add_(1)

    def step(self) -> float:
        self.replay()
        return self.counter.item()

    def check(self, values: list[float]) -> None:
        if set(values) != {self.kernels - 1}:
            raise RuntimeError("a replay did not run all of its kernels")


WORKLOADS: dict[str, Callable[[str], Workload]] = {
    "mnist-64": lambda device: Mnist(64, device),
    "mnist-1000": lambda device: Mnist(1000, device),
    "transformer": Transformer,
    "item-loop": ItemLoop,
    "graph-500": lambda device: Graph(500, device),
}
