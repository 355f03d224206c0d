"""tp.Scalars: the metrics of every step, without a synchronisation in any."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

from turnpike import _core
from turnpike._move.fetch import Fetched, fetch
from turnpike._move.late import torch

Row = tuple[int, dict[str, float]]


class Scalars:
    """Collects numbers that the GPU computes, and hands over those that have arrived.

        scalars = tp.Scalars()
        for batch in loader:
            ...
            scalars.add(loss=loss, accuracy=accuracy)
            for step, values in scalars.ready():
                log(step, **values)
        for step, values in scalars.finish():
            log(step, **values)

    Values are read as Tensor.item() reads them: what requires a gradient may be given as it is. For one thread.
    """

    def __init__(self) -> None:
        self._pending: collections.deque[_Step] = collections.deque()
        self._arrived: list[Row] = []
        self._next = 0

    def add(self, step: int | None = None, **values: torch.Tensor | float) -> None:
        """Takes the values of one step: tensors with one item, on whatever device, and numbers.

        step: its number; without one, the one after the last.
        """
        number = self._next if step is None else step
        self._next = number + 1
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and value.numel() != 1:
                raise _core.Error(
                    f"turnpike.Scalars.add(): {name} has {value.numel()} items; give one, its mean() say."
                )
        self._pending.append(_Step(number, values))
        self._collect()

    def ready(self) -> list[Row]:
        """The steps that have arrived since the last call, in their order, as (step, {name: value}). Never waits."""
        self._collect()
        arrived, self._arrived = self._arrived, []
        return arrived

    def finish(self) -> list[Row]:
        """Waits for those that are still on their way, and hands over all that no call has handed over yet."""
        while self._pending:
            self._arrived.append(self._pending.popleft().row())
        return self.ready()

    def _collect(self) -> None:
        while self._pending and self._pending[0].has_arrived():
            self._arrived.append(self._pending.popleft().row())


class _Step:
    def __init__(self, number: int, values: Mapping[str, Any]) -> None:
        self._number = number
        self._values = dict(values)
        # Those of one dtype and device cross together.
        groups: dict[Any, list[str]] = {}
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                groups.setdefault((value.device, value.dtype), []).append(name)
        self._fetched = [(names, self._fetch(names)) for names in groups.values()]

    def _fetch(self, names: list[str]) -> Fetched:
        with torch.no_grad():
            tensors = [self._values[name].detach().reshape(()) for name in names]
            return fetch(torch.stack(tensors) if len(tensors) > 1 else tensors[0].reshape(1))

    def has_arrived(self) -> bool:
        return all(fetched.ready() for _, fetched in self._fetched)

    def row(self) -> Row:
        for names, fetched in self._fetched:
            self._values.update(zip(names, fetched.result().tolist(), strict=True))
        return self._number, {name: float(value) for name, value in self._values.items()}
