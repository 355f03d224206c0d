"""tp.Scalars: the metrics of every step, without a synchronisation in any."""

from __future__ import annotations

import collections
from typing import Any

from turnpike import _core
from turnpike._move import engine as _engine
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

    every: how many steps cross together. Where a step is bound by its launches, each copy costs it tens of
        microseconds; with every=16 it is one in 16 steps, and values arrive that much later. Until then the tensors
        that were given must stay as they are: one that was written to is refused with turnpike.Error, except where
        PyTorch does not know of it (the replay of a CUDA graph, a kernel of your own): give clones there.

    Values are read as Tensor.item() reads them: what requires a gradient may be given as it is. For one thread.
    """

    def __init__(self, every: int = 1) -> None:
        if every < 1:
            raise ValueError(f"every is {every}: at least one step must cross at a time")
        self._every = every
        self._open: dict[Any, _Crossing] = {}
        self._open_steps = 0
        self._pending: collections.deque[_Step] = collections.deque()
        self._arrived: list[Row] = []
        self._next = 0

    def add(self, step: int | None = None, **values: torch.Tensor | float) -> None:
        """Takes the values of one step: tensors with one item, on whatever device, and numbers.

        step: its number; without one, the one after the last.
        """
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        for name, tensor in tensors.items():
            if tensor.numel() != 1:
                raise _core.Error(
                    f"turnpike.Scalars.add(): {name} has {tensor.numel()} items; give one, its mean() say."
                )
        if any(tensor.is_cuda for tensor in tensors.values()):
            _engine.refuse_capture("turnpike.Scalars.add()")
        number = self._next if step is None else step
        self._next = number + 1
        sources = {name: self._hold(tensor, f"{name} of step {number}") for name, tensor in tensors.items()}
        self._pending.append(_Step(number, values, sources))
        self._open_steps += 1
        if self._open_steps == self._every:
            self._send()
        self._collect()

    def ready(self) -> list[Row]:
        """The steps that have arrived since the last call, in their order, as (step, {name: value}). Never waits."""
        self._collect()
        arrived, self._arrived = self._arrived, []
        return arrived

    def finish(self) -> list[Row]:
        """Waits for those that are still on their way, and hands over all that no call has handed over yet."""
        self._send()
        while self._pending:
            self._arrived.append(self._pending.popleft().row())
        return self.ready()

    def _hold(self, tensor: torch.Tensor, label: str) -> tuple[_Crossing, int]:
        stream = _engine.current_stream(tensor.get_device()) if tensor.is_cuda else None
        key = (tensor.device, tensor.dtype, stream)
        if key not in self._open:
            self._open[key] = _Crossing(tensor.get_device(), stream)
        return self._open[key], self._open[key].add(tensor, label, is_kept=self._every > 1)

    def _send(self) -> None:
        opened, self._open, self._open_steps = self._open, {}, 0
        for crossing in opened.values():
            crossing.send()

    def _collect(self) -> None:
        while self._pending and self._pending[0].has_arrived():
            self._arrived.append(self._pending.popleft().row())


def _stream_of(number: int, device: int) -> torch.cuda.Stream:
    # As an external one, number 0 would be a new stream.
    return torch.cuda.ExternalStream(number, device) if number else torch.cuda.default_stream(device)


class _Crossing:
    """Values of one dtype, device and stream, that cross together."""

    def __init__(self, device: int, stream: int | None) -> None:
        self._device = device
        self._stream = stream
        self._labels: list[str] = []
        self._versions: list[int | None] = []  # at the time when they were given; None: nobody else can write to it
        # Until they have arrived: they may be of the memory of another stream, which takes it back when they are gone.
        self._tensors: list[torch.Tensor] = []
        self._overwritten: set[int] = set()
        self._is_sent = False
        self._fetched: Fetched | None = None
        self._values: list[float] = []

    def add(self, tensor: torch.Tensor, label: str, is_kept: bool) -> int:
        """Returns the value's index. is_kept: others follow, and the tensor may be written to before they have."""
        tensor = tensor.detach()
        version = None
        if is_kept and tensor.is_inference():  # it does not count its versions
            tensor = tensor.clone()
        elif is_kept:
            version = tensor._version
        self._labels.append(label)
        self._versions.append(version)
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def send(self) -> None:
        self._is_sent = True
        for index, (tensor, version) in enumerate(zip(self._tensors, self._versions, strict=True)):
            if version is not None and tensor._version != version:
                self._overwritten.add(index)
        if self._stream is None or self._stream == _engine.current_stream(self._device):
            self._fetched = self._fetch()
        else:
            with torch.cuda.stream(_stream_of(self._stream, self._device)):
                self._fetched = self._fetch()

    def _fetch(self) -> Fetched:
        with torch.no_grad():
            flat = [tensor.reshape(1) for tensor in self._tensors]
            return fetch(torch.cat(flat) if len(flat) > 1 else flat[0])

    def has_arrived(self) -> bool:
        return self._is_sent and (self._fetched is None or self._fetched.ready())

    def value(self, index: int) -> float:
        if self._fetched is None:
            raise _core.Error(f"turnpike.Scalars: the copy of {self._labels[index]} could not be started.")
        if self._tensors:
            self._values = self._fetched.result().tolist()
            self._tensors = []
        if index in self._overwritten:
            raise _core.Error(
                f"turnpike.Scalars: {self._labels[index]} was written to before it crossed: give its clone(), or leave "
                "out every=."
            )
        return float(self._values[index])


class _Step:
    def __init__(self, number: int, values: dict[str, Any], sources: dict[str, tuple[_Crossing, int]]) -> None:
        self._number = number
        self._values = values
        self._sources = sources

    def has_arrived(self) -> bool:
        return all(crossing.has_arrived() for crossing, _ in self._sources.values())

    def row(self) -> Row:
        for name, (crossing, index) in self._sources.items():
            self._values[name] = crossing.value(index)
        return self._number, {name: float(value) for name, value in self._values.items()}
