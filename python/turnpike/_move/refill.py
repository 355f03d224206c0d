"""Loaders that fill the same host memory again: no batch is asked for while that memory is still to be read.

A plain loop has read a batch before it asks for the next one. prefetch reads it later: pageable memory when it is
staged, page-locked memory when the link gets to it. Whether a loader fills its memory again cannot be asked. So the
first batches are a trial: before each, all earlier ones must have been read. Meanwhile their memory is kept alive, so
a later batch at the same address is the loader's doing, and not the allocator's. If there is one, the care lasts as
long as the iteration. A tensor that is on the GPU already is the loop's while it works: a loader that writes to it
again must not be asked ahead at all.
"""

from __future__ import annotations

import collections
import sys
import time
import weakref
from collections.abc import Iterable
from typing import Any

from turnpike import _core
from turnpike._move import born, plan
from turnpike._move import engine as _engine
from turnpike._move.late import torch

_POLL_S = 30e-6


class Memory:
    """The memory of a batch as its loader gave it, kept alive."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        here = [tensor for tensor in tensors if tensor.device.type == "cpu"]
        plain = [tensor for tensor in here if plan.is_plain(tensor)]
        self._storages = [tensor.untyped_storage() for tensor in plain]
        # Of special tensors it cannot be said where they are. NumPy's array may be a part of a larger one, which the
        # loader fills as a whole; parts of a tensor share their storage. (Page-locked copies are not resizable either.)
        self.is_known = len(plain) == len(here) and all(
            storage.resizable() or storage.nbytes() == 0 or tensor.is_pinned()
            for tensor, storage in zip(plain, self._storages, strict=True)
        )

        self._on_device = {}
        for tensor in tensors:
            is_plain = type(tensor) in plan.plain_types() and tensor.layout is torch.strided
            if is_plain and tensor.device.type != "cpu" and not tensor.is_inference():  # those have no version
                self._on_device[tensor.untyped_storage()._cdata] = tensor, tensor._version

    def has_changed_on_device(self, earlier: Memory) -> bool:
        """Whether a tensor that is on the GPU already has been written to since it was in an earlier batch."""
        return any(
            storage in earlier._on_device and version != earlier._on_device[storage][1]
            for storage, (_, version) in self._on_device.items()
        )

    def addresses(self) -> set[int]:
        return {storage.data_ptr() for storage in self._storages} - {0}


class Owner:
    """Gone when the engine needs the page-locked memory of a transfer no more."""


class Reading:
    """Until when a batch's memory is read."""

    def __init__(self, is_late: bool = False, memory: Memory | None = None) -> None:
        self.is_late = is_late  # not before the loop gets the batch is all of it read
        self.has_foreign = False  # objects that move themselves: where their memory is cannot be said
        self.memory = memory
        self.transfer: _core.MoveTransfer | None = None  # while the batch has it
        self.events: list[torch.cuda.Event] = []  # of what has moved itself on another stream
        self._owner: weakref.ref[Owner] | None = None

    def owner(self) -> Owner:
        """Something for the engine to keep as long as the link reads."""
        made = Owner()
        self._owner = weakref.ref(made)
        return made

    def is_over(self, engine: _core.MoveEngine) -> bool:
        """Whether the loader may write to the memory of the batch; of one that is late: once the loop has got it."""
        if not all(event.query() for event in self.events):
            return False
        self.events = []
        if self._owner is None:
            # One that has been handed over or dropped is not read any more.
            return self.transfer is None or self.transfer.is_staged() or self.transfer.is_done()
        if self.transfer is not None:
            return self.transfer.is_done()
        if self._owner() is not None:
            engine.reap()
        return self._owner() is None


class Refills:
    """The care that the loader of one iteration needs."""

    def __init__(self, engine: _core.MoveEngine, iterable: Iterable[Any], depth: int) -> None:
        self._engine = engine
        self.is_careful = self.is_trial = not makes_new_memory(iterable)
        self._is_of_use = self.is_careful
        self.refusal: str | None = None  # why no batch may be taken ahead
        self._is_refilled = False
        self._trial = depth + 3
        self._kept: collections.deque[Memory] = collections.deque(maxlen=depth + 2)
        # A ring of more buffers than the trial has batches comes back to one that the loop has had. Of page-locked
        # ones the host may be that far ahead.
        self._readings: collections.deque[Reading] = collections.deque(maxlen=depth + 3)

    def taken(self, reading: Reading) -> None:
        """A batch has come, and is on its way."""
        if not self._is_of_use:
            return
        self._readings.append(reading)
        memory, reading.memory = reading.memory, None
        if not self.is_trial or memory is None:
            return
        self._is_refilled |= reading.has_foreign or not memory.is_known
        for kept in self._kept:
            self._is_refilled |= not memory.addresses().isdisjoint(kept.addresses())
            if memory.has_changed_on_device(kept):
                self.refusal = (
                    "what it iterates over writes again to a tensor on the GPU that it has yielded before, and ahead "
                    "of the loop that would be too early. Let it yield clones"
                )
        self._kept.append(memory)
        self._trial -= 1
        if self._trial == 0:
            self.is_careful = self._is_refilled
            self.end_trial()

    def end_trial(self) -> None:
        """Lets the memory go."""
        self.is_trial = False
        self._kept.clear()

    def wait(self) -> None:
        """Before a batch is asked for: waits until the loader may write to the memory of those before."""
        waited_for = list(self._readings)  # a careful loop takes none ahead of one that is late: it has got those
        if not self.is_careful:
            waited_for = waited_for[:1] if len(waited_for) == self._readings.maxlen else []
        for reading in waited_for:
            # What began before a fork never ends in the child: who asks for it there gets an exception.
            while not _engine.is_over() and not reading.is_over(self._engine):
                time.sleep(_POLL_S)


def makes_new_memory(iterable: Any) -> bool:
    """Whether each batch is known to be in memory of its own: a list runs no code, and default_collate stacks."""
    if type(iterable) in (list, tuple):
        return True
    if not born.is_pytorchs_own(iterable):
        return False
    if iterable.num_workers > 0:
        return True
    data = sys.modules["torch.utils.data"]
    collate = data._utils.collate
    functions = collate.default_collate_fn_map.values()  # the program may have put its own there
    return iterable.collate_fn is data.default_collate and all(
        function.__module__ == collate.__name__ for function in functions
    )
