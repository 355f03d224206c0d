"""The best practices, as one writes them by hand without Turnpike: what it has to be measured against."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from turnpike._bench.machine import MIB, Machine


class TwoSlotStaging:
    """Uploads pageable memory through two page-locked slots: one is filled while the other crosses."""

    SLOT_BYTES = 32 * MIB

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.slot_bytes = machine.sized(self.SLOT_BYTES)
        self.slots = [machine.empty_pinned(self.slot_bytes, machine.torch.uint8) for _ in range(2)]
        self.free = [machine.new_event() for _ in range(2)]

    def upload(self, source: Any) -> Any:
        torch = self.machine.torch
        target = torch.empty_like(source, device=self.machine.device)
        from_bytes, to_bytes = source.view(-1).view(torch.uint8), target.view(-1).view(torch.uint8)
        for number, start in enumerate(range(0, from_bytes.numel(), self.slot_bytes)):
            event, slot = self.free[number % 2], self.slots[number % 2]
            piece = from_bytes[start : start + self.slot_bytes]
            event.synchronize()
            slot[: piece.numel()].copy_(piece)
            to_bytes[start : start + piece.numel()].copy_(slot[: piece.numel()], non_blocking=True)
            event.record()
        return target


class PackedUpload:
    """Uploads tensors of one dtype as one: packs them into a page-locked buffer and cuts the copy into views."""

    def __init__(self, machine: Machine, tensors: list[Any]) -> None:
        self.machine = machine
        self.buffer = machine.empty_pinned(sum(tensor.numel() for tensor in tensors), tensors[0].dtype)

    def upload(self, tensors: list[Any]) -> list[Any]:
        self.machine.torch.cat([tensor.view(-1) for tensor in tensors], out=self.buffer)
        crossed = self.buffer.to(self.machine.device, non_blocking=True)
        pieces = crossed.split([tensor.numel() for tensor in tensors])
        return [piece.view(tensor.shape) for piece, tensor in zip(pieces, tensors, strict=True)]


_END = object()


def prefetch(machine: Machine, batches: Iterable[Any], side: Any, depth: int = 2) -> Iterator[Any]:
    """A thread pins the batches; the stream `side` uploads the next while the consumer's stream computes."""
    pinned: queue.Queue[Any] = queue.Queue(depth)

    def pin_all() -> None:
        for batch in batches:
            pinned.put(machine.pin(batch))
        pinned.put(_END)

    thread = threading.Thread(target=pin_all, daemon=True)
    thread.start()
    yield from upload_ahead(machine, iter(pinned.get, _END), side)
    thread.join()


def upload_ahead(machine: Machine, pinned: Iterable[Any], side: Any) -> Iterator[Any]:
    """Uploads page-locked tensors, one ahead, on the stream `side`: to be made once, each has memory of its own."""

    def start(batch: Any) -> tuple[Any, Any]:
        event = machine.new_event()
        with machine.use(side):
            crossed = batch.to(machine.device, non_blocking=True)
            event.record(side)
        return crossed, event

    source = iter(pinned)
    ahead = [start(batch) for batch in _take(source, 1)]
    while ahead:
        crossed, event = ahead.pop()
        ahead += [start(batch) for batch in _take(source, 1)]
        current = machine.current_stream()
        current.wait_event(event)
        machine.keep_for(crossed, current)
        yield crossed


def _take(source: Iterator[Any], count: int) -> list[Any]:
    return [batch for _, batch in zip(range(count), source, strict=False)]


class LateReader:
    """Reads numbers of a loop without stalling it: copies them into page-locked memory and looks one step later."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.slots = [machine.empty_pinned((), machine.torch.float32) for _ in range(2)]
        self.events = [machine.new_event() for _ in range(2)]
        self.pending: list[int] = []
        self.count = 0
        self.read: list[float] = []

    def add(self, value: Any) -> None:
        if len(self.pending) == 2:
            self._take_first()
        slot = self.count % 2
        self.slots[slot].copy_(value, non_blocking=True)
        self.events[slot].record()
        self.pending.append(slot)
        self.count += 1

    def finish(self) -> list[float]:
        while self.pending:
            self._take_first()
        return self.read

    def _take_first(self) -> None:
        slot = self.pending.pop(0)
        self.events[slot].synchronize()
        self.read.append(self.slots[slot].item())


class ResultSlots:
    """Brings results of a loop into rows of host memory without stalling it.

    The stream `side` copies each into one of two page-locked slots; two steps later the CPU copies it out.
    """

    def __init__(self, machine: Machine, like: Any, side: Any) -> None:
        self.machine = machine
        self.side = side
        self.slots = [machine.empty_pinned(like.shape, like.dtype) for _ in range(2)]
        self.events = [machine.new_event() for _ in range(2)]
        self.pending: list[tuple[int, Any]] = []
        self.count = 0

    def add(self, result: Any, row: Any) -> None:
        if len(self.pending) == 2:
            self._take_first()
        slot = self.count % 2
        self.side.wait_stream(self.machine.current_stream())
        with self.machine.use(self.side):
            self.slots[slot].copy_(result, non_blocking=True)
            self.events[slot].record(self.side)
        self.machine.keep_for(result, self.side)
        self.pending.append((slot, row))
        self.count += 1

    def finish(self) -> None:
        while self.pending:
            self._take_first()

    def _take_first(self) -> None:
        slot, row = self.pending.pop(0)
        self.events[slot].synchronize()
        row.copy_(self.slots[slot])
