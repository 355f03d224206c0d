"""tp.Scalars: the metrics of every step, without a synchronisation in any."""

from __future__ import annotations

import collections
import time
from typing import Any

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move.fetch import Fetched, start
from turnpike._move.late import torch

Row = tuple[int, dict[str, Any]]

# So long do steps wait for others to cross with them. Each copy costs a step that is bound by its launches tens of
# microseconds, and nobody reads a log a hundred times a second.
_TOGETHER_S = 0.01
# Values of one lane that cross together at most: of 16 bytes, half of what is copied in the stream.
_MOST = 2048


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

    A value is the one that Tensor.item() would return at the call, with the same type, whatever is written to the
    tensor later. Tensors that require a gradient are accepted. Numbers come back unchanged. Use it from one thread.

    Args:
        every: How many steps are transferred together; by default those of 10 ms.

    Raises:
        ValueError: `every` is less than 1.
    """

    def __init__(self, every: int | None = None) -> None:
        if every is not None and every < 1:
            raise ValueError(f"every is {every}: at least one step must cross at a time")
        self._every = every
        self._lanes: dict[Any, _Lane] = {}
        self._open_steps = 0
        self._sent_at = 0.0
        self._pending: collections.deque[_Step] = collections.deque()
        self._arrived: list[Row] = []
        self._next = 0

    def add(self, step: int | None = None, **values: torch.Tensor | float) -> None:
        """Takes the values of one step.

        Args:
            step: Number of the step; by default one more than the last.
            values: By name: tensors with one item, on any device, and numbers.

        Raises:
            turnpike.Error: A tensor has more than one item, or a value is on the GPU while a CUDA graph is captured.
            TypeError: `step` is no whole number: a value without its name was given.
        """
        if step is not None and (isinstance(step, torch.Tensor) or not hasattr(step, "__index__")):
            raise TypeError("turnpike.Scalars.add() takes values by name: add(loss=loss)")
        on_gpu: dict[_Lane, list[tuple[str, torch.Tensor]]] = {}
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                if value.numel() != 1:
                    raise _core.Error(
                        f"turnpike.Scalars.add(): {name} has {value.numel()} items; give one, its mean() say."
                    )
                lane = self._lane(value)
                if lane is None:
                    values[name] = value.item()
                else:
                    on_gpu.setdefault(lane, []).append((name, value))
        number = self._next if step is None else step
        self._next = number + 1
        sources = [source for lane, named in on_gpu.items() for source in lane.take(named)]
        self._pending.append(_Step(number, values, sources))
        self._open_steps += 1
        if self._is_time() or any(lane.is_full() for lane in on_gpu):
            self._send()

    def ready(self) -> list[Row]:
        """Returns the steps that have arrived since the last call, in order, as (step, {name: value}). Never waits."""
        if self._every is None and self._open_steps and self._is_time():
            self._send()
        while self._pending and self._pending[0].has_arrived():
            self._arrived.append(self._pending[0].row())
            self._pending.popleft()
        arrived, self._arrived = self._arrived, []
        return arrived

    def finish(self) -> list[Row]:
        """Waits for the steps in flight and returns all that no call has returned yet, as `ready()` does.

        Raises:
            turnpike.Error: A CUDA graph is being captured and some values have not been sent. They are kept.
        """
        if any(lane.batch.count for lane in self._lanes.values()):
            _engine.refuse_capture("turnpike.Scalars.finish()")
            self._send()
        while self._pending:
            self._arrived.append(self._pending[0].row())
            self._pending.popleft()
        self._lanes = {}
        return self.ready()

    def _lane(self, tensor: torch.Tensor) -> _Lane | None:
        """Where a value crosses; None for one that is not on a GPU, or that only its class can read."""
        if not tensor.is_cuda or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return None
        engine = _engine.engine()
        if engine is None:
            return None
        _engine.refuse_capture("turnpike.Scalars.add()")
        device = tensor.get_device()
        key = (device, _engine.current_stream(device), tensor.dtype)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(engine, tensor.device, key[1], tensor.dtype)
        return lane

    def _is_time(self) -> bool:
        if self._every is not None:
            return self._open_steps >= self._every
        return time.monotonic() - self._sent_at >= _TOGETHER_S

    def _send(self) -> None:
        # What has been taken stays until a capture is over.
        if self._lanes and torch.cuda.is_current_stream_capturing():
            return
        for lane in self._lanes.values():
            lane.send()
        self._open_steps = 0
        self._sent_at = time.monotonic()


class _Lane:
    """Values of one dtype, on their way from one stream of a GPU: copied together there, then to the host."""

    def __init__(self, engine: _core.MoveEngine, device: torch.device, stream: int, dtype: torch.dtype) -> None:
        self._engine = engine
        self._stream = stream
        with torch.inference_mode(False):
            self._block = torch.empty(_MOST, dtype=dtype, device=device)
        self._places: list[torch.Tensor] = []  # of the block: to make one takes as long as to copy to it
        self.batch = _Batch()

    def take(self, named: list[tuple[str, torch.Tensor]]) -> list[tuple[str, _Batch, int]]:
        """Copies values as they are now, in the current stream. Returns of each its name and where it will be found."""
        if len(named) > _MOST:
            return self.take(named[:_MOST]) + self.take(named[_MOST:])
        if self.batch.count + len(named) > _MOST:
            self.send()
        first, end = self.batch.count, self.batch.count + len(named)
        if len(self._places) < end:
            self._make_places(end)
        values = [value.detach() if value.dim() == 0 else value.detach().reshape(()) for _, value in named]
        if len(values) == 1:
            self._places[first].copy_(values[0])
        else:
            torch._foreach_copy_(self._places[first:end], values)
        self.batch.count = end
        return [(name, self.batch, first + index) for index, (name, _) in enumerate(named)]

    def _make_places(self, count: int) -> None:
        made = len(self._places)
        with torch.inference_mode(False):
            self._places += self._block[made : max(count, min(2 * made + 64, _MOST))].unbind()

    def is_full(self) -> bool:
        return self.batch.count >= _MOST // 2

    def send(self) -> None:
        """Sends them off. The next ones may be copied to the same memory: that comes later in the stream."""
        batch = self.batch
        if batch.count:
            fetched = start(self._engine, self._block[: batch.count], self._stream)
            batch.fetched, self.batch = fetched, _Batch()


class _Batch:
    """Values of a lane that cross together."""

    __slots__ = ("_values", "count", "fetched")

    def __init__(self) -> None:
        self.count = 0
        self.fetched: Fetched | None = None
        self._values: list[Any] | None = None

    def has_arrived(self) -> bool:
        return self._values is not None or (self.fetched is not None and self.fetched.ready())

    def values(self) -> list[Any]:
        """Waits for them."""
        if self._values is None:
            assert self.fetched is not None
            self._values = self.fetched.result().tolist()
        return self._values


class _Step:
    __slots__ = ("_number", "_sources", "_values")

    def __init__(self, number: int, values: dict[str, Any], sources: list[tuple[str, _Batch, int]]) -> None:
        self._number = number
        self._values = values
        self._sources = sources

    def has_arrived(self) -> bool:
        return all(batch.has_arrived() for _, batch, _ in self._sources)

    def row(self) -> Row:
        for name, batch, index in self._sources:
            self._values[name] = batch.values()[index]
        return self._number, self._values
