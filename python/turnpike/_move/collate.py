"""Puts itself in the place of a DataLoader's collate_fn, so that batches are made in the slots of an arena."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from turnpike._move import arena, wire
from turnpike._move import slots as _slots
from turnpike._move.late import torch

Function = Callable[[Any], Any]

# So long does a worker wait for a slot before it makes the batch where PyTorch does.
_PATIENCE_S = 0.05

_making = threading.local()  # room: of the batch that this thread is collating


class InWorker:
    """The collate_fn of a loader with workers: what they make travels in a wire.Parcel.

    slots: kept alive with the iterator that has this; they do not go to the workers.
    """

    def __init__(self, collate_fn: Function, slots: _slots.Slots) -> None:
        self.collate_fn = collate_fn
        self.slots: _slots.Slots | None = slots
        self._arena = slots.arena
        self._parent = os.getpid()
        self._taker: _Taker | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "slots": None}

    def __call__(self, samples: Any) -> Any:
        taker = self._taker or self._new_taker()
        if taker is None or not self._arena.is_open:
            return self.collate_fn(samples)
        room = wire.Room(taker.take, taker.give_back)
        _making.room = room
        try:
            return wire.Parcel(self._arena.token, room, self.collate_fn(samples))
        except BaseException:
            room.give_back()
            raise
        finally:
            _making.room = None

    def _new_taker(self) -> _Taker | None:
        info = torch.utils.data.get_worker_info()
        if info is None or os.getpid() == self._parent:
            return None
        _stack_into_rooms()
        self._taker = _Taker(self._arena, info.id)
        return self._taker


class _Taker:
    """The slots of one worker, in that worker."""

    def __init__(self, its_arena: arena.Arena, worker: int) -> None:
        self._arena = its_arena
        self._slots = its_arena.slots_of(worker)
        self._lock = threading.Lock()  # batches are collated in one thread and pickled in another
        self._used_here: dict[int, weakref.ref[memoryview]] = {}

    def take(self) -> tuple[int, memoryview] | None:
        """A slot that neither the parent nor anything in this process uses: a dataset may have kept a batch.

        Waits for the parent, but not for long: all its slots are in use where the loop is far ahead of the GPU.
        """
        end = time.monotonic() + _PATIENCE_S
        while (found := self._free()) is None and time.monotonic() < end and any(self._flags()):
            time.sleep(1e-3)
        return found

    def _flags(self) -> memoryview:
        return self._arena.flags[self._slots.start : self._slots.stop]

    def _free(self) -> tuple[int, memoryview] | None:
        with self._lock:
            for slot in self._slots:
                here = self._used_here.get(slot)
                if not self._arena.flags[slot] and (here is None or here() is None):
                    self._arena.flags[slot] = 1
                    view = self._arena.view(slot)
                    self._used_here[slot] = weakref.ref(view)
                    return slot, view
        return None

    def give_back(self, slot: int) -> None:
        self._arena.flags[slot] = 0


class Here:
    """The collate_fn of a loader without workers, whose own is default_collate: large tensors are stacked in slots."""

    def __init__(self, slots: _slots.Slots) -> None:
        self.slots = slots

    def __call__(self, samples: Any) -> Any:
        from torch.utils.data._utils import collate

        stack = collate.collate_tensor_fn
        if collate.default_collate_fn_map.get(torch.Tensor) is not stack:  # one that the program has put there
            return collate.default_collate(samples)
        room = wire.Room(self.slots.take, self._ignore)

        def stacked(batch: Any, *, collate_fn_map: Any = None) -> Any:
            out = _out_for(batch, room) if _can_be_stacked_here(batch) else None
            return stack(batch, collate_fn_map=collate_fn_map) if out is None else torch.stack(batch, 0, out=out)

        found = collate.collate(samples, collate_fn_map={**collate.default_collate_fn_map, torch.Tensor: stacked})
        if room.slot is not None and room.view is not None:
            self.slots.page_lock(room.slot, room.view, room.used)
        return found

    @staticmethod
    def _ignore(slot: int) -> None:
        """It is free when its view is gone."""


def _stack_into_rooms() -> None:
    """In a worker: default_collate, also where another collate_fn calls it, stacks into the room of the batch."""
    from torch.utils.data._utils import collate

    functions = collate.default_collate_fn_map
    if functions.get(torch.Tensor) is not collate.collate_tensor_fn:  # one that the program has put there
        return

    def stacked(batch: Any, *, collate_fn_map: Any = None) -> Any:
        room = getattr(_making, "room", None)
        out = None if room is None or not _can_be_stacked(batch) else _out_for(batch, room)
        if out is None:
            return collate.collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
        return torch.stack(batch, 0, out=out)

    functions[torch.Tensor] = stacked


def _out_for(batch: Any, room: wire.Room) -> torch.Tensor | None:
    first = batch[0]
    part = room.part(len(batch) * first.numel() * first.itemsize)
    if part is None or room.view is None:
        return None
    size = (len(batch), *first.shape)
    stride = torch.empty(size, device="meta").stride()
    return wire.tensor_of(wire.storage_of(room.view, part), first.dtype, 0, size, stride)


def _can_be_stacked(batch: Any) -> bool:
    """Whether PyTorch's own function stacks these into memory without gaps. Others it refuses, converts, or knows."""
    first = batch[0]
    return first.numel() > 0 and all(
        type(item) is torch.Tensor
        and item.layout is torch.strided
        and item.device.type == "cpu"
        and item.dtype is first.dtype
        and item.shape == first.shape
        and not (item.requires_grad or item.is_nested or item.is_quantized or item.has_names())
        and not (item.is_conj() or item.is_neg())
        for item in batch
    )


def _can_be_stacked_here(batch: Any) -> bool:
    """The same in a process that is no worker: there it takes the layout of the items. Small ones are better packed."""
    is_large = len(batch) * batch[0].numel() * batch[0].itemsize >= arena.SMALL_BYTES
    return is_large and _can_be_stacked(batch) and all(item.is_contiguous() for item in batch)
