"""bench fetch: a training loop that logs its loss in every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from turnpike._bench.by_hand import LateReader
from turnpike._bench.figures import Target
from turnpike._bench.machine import Machine
from turnpike._bench.timing import Case, Planned, Way, WrongResult

ITEM, FETCH, SCALARS, NOT_AT_ALL = ".item() every step", "Turnpike fetch", "Turnpike Scalars", "not logged"
EVERY = 16
SEVERAL = f"Turnpike Scalars, {EVERY} steps at a time"
TARGETS = [
    Target(way, "ratio <=", 1.02, f"{way}: within 2 % of a loop that logs nothing", NOT_AT_ALL)
    for way in (FETCH, SCALARS, SEVERAL)
]


def plan(quick: bool, **_: Any) -> list[Planned]:
    steps = 100 if quick else 200
    return [
        Planned("launch-bound step", partial(logging, name="launch-bound step", width=256, steps=steps)),
        Planned("GPU-bound step", partial(logging, name="GPU-bound step", width=2048, steps=steps)),
    ]


class Training:
    """Steps of a small network. It starts anew for each turn: the losses of all ways must be the same."""

    BATCH, LAYERS = 512, 6

    def __init__(self, m: Machine, width: int) -> None:
        torch = m.torch
        self.m = m
        self.torch = torch
        torch.manual_seed(1)
        width = m.side(width)
        layers: list[Any] = []
        for _ in range(self.LAYERS):
            layers += [torch.nn.Linear(width, width), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers).to(m.device)
        self.input = torch.randn(self.BATCH, width).to(m.device)
        self.target = torch.randn(self.BATCH, width).to(m.device)
        self.start = [parameter.detach().clone() for parameter in self.model.parameters()]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def reset(self) -> None:
        with self.torch.no_grad():
            for parameter, start in zip(self.model.parameters(), self.start, strict=True):
                parameter.copy_(start)

    def step(self) -> Any:
        self.optimizer.zero_grad()
        loss = self.torch.nn.functional.mse_loss(self.model(self.input), self.target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def logging(m: Machine, name: str, width: int, steps: int) -> Case:
    training = Training(m, width)
    training.reset()
    wanted = [training.step().item() for _ in range(steps)]

    def check(losses: list[Any]) -> None:
        losses = [float(loss) for loss in losses]
        if len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were logged, not {steps}")
        for step, (got, true) in enumerate(zip(losses, wanted, strict=True)):
            if not math.isclose(got, true, rel_tol=1e-3):
                raise WrongResult(f"the loss of step {step} was logged as {got}, and is {true}")

    def way(name: str, role: str, run: Callable[[], list[Any]]) -> Way:
        return Way(name, role, run, check, prepare=training.reset)

    ways = [
        way(ITEM, "pytorch", lambda: [training.step().item() for _ in range(steps)]),
        way("pinned, read a step later", "best", lambda: _late(m, training, steps)),
        way(FETCH, "turnpike", lambda: _fetch(m, training, steps)),
        way(SCALARS, "turnpike", lambda: _scalars(m, training, steps)),
        way(SEVERAL, "turnpike", lambda: _scalars(m, training, steps, every=EVERY)),
        way(NOT_AT_ALL, "bound", lambda: [training.step() for _ in range(steps)]),
    ]
    return Case(name, "us", steps, ways, ITEM, bound=NOT_AT_ALL, targets=list(TARGETS))


def _late(m: Machine, training: Training, steps: int) -> list[float]:
    reader = LateReader(m)
    for _ in range(steps):
        reader.add(training.step())
    return reader.finish()


def _fetch(m: Machine, training: Training, steps: int) -> list[float]:
    """Logs what has arrived, in every step; waits for the rest at the end."""
    pending: list[Any] = []
    logged: list[float] = []
    for _ in range(steps):
        pending.append(m.tp.fetch(training.step()))
        while pending and pending[0].ready():
            logged.append(pending.pop(0).item())
    return logged + [future.item() for future in pending]


def _scalars(m: Machine, training: Training, steps: int, every: int | None = None) -> list[float]:
    scalars = m.tp.Scalars(every=every)
    logged = []
    for step in range(steps):
        scalars.add(step, loss=training.step())
        logged += scalars.ready()
    logged += scalars.finish()
    return [loss_of(entry, step) for step, entry in enumerate(logged)]


def loss_of(entry: Any, step: int) -> float:
    """The loss of what Scalars hands over for one step."""
    values = entry[1] if isinstance(entry, tuple) else entry
    if isinstance(entry, tuple) and entry[0] != step:
        raise WrongResult(f"step {entry[0]} was handed over where step {step} was next")
    return float(values["loss"])
