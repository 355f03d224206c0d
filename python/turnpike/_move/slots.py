"""The slots of an arena in the process that takes batches out of them: which are in use, and which are page-locked."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from turnpike import _core
from turnpike._move import arena
from turnpike._move import engine as _engine

_MOST_REFUSALS = 3

_slots: weakref.WeakValueDictionary[int, Slots] = weakref.WeakValueDictionary()


class Slots:
    """Those of one arena, with their page-locks. Gone, it has undone these."""

    def __init__(self, its_arena: arena.Arena, device: int) -> None:
        self.arena = its_arena
        self.device = device
        self.workers: Iterable[Any] | None = None  # who write to it; not known: they are being started
        self.user: object = None  # the iteration, where the workers outlive it
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._leased: set[int] = set()
        self._locked: dict[int, tuple[int, int]] = {}  # the address and size of what is page-locked, by slot
        self._refusals = 0
        _slots[its_arena.token] = self

    def lease(self, slot: int) -> memoryview:
        """The memory of a slot, which is not free until the view is gone, and all that was made of it."""
        self._leased.add(slot)
        view = self.arena.view(slot)
        weakref.finalize(view, self._give_back, slot).atexit = False
        return view

    def _give_back(self, slot: int) -> None:
        # At any time, in any thread: takes no lock. A forked child has copies of all this, and no say.
        if os.getpid() == self._process:
            self._leased.discard(slot)
            self.arena.flags[slot] = 0

    def take(self) -> tuple[int, memoryview] | None:
        """A free slot, for one who makes batches in this process."""
        with self._lock:
            for slot in range(self.arena.count):
                if not self.arena.flags[slot]:
                    self.arena.flags[slot] = 1
                    return slot, self.lease(slot)
        return None

    def page_lock(self, slot: int, view: memoryview, used: int) -> None:
        """Has the first `used` bytes behind the small area of a slot page-locked, or said why not."""
        with self._lock:
            address, size = self._locked.get(slot, (0, 0))
            if used <= size or self._refusals >= _MOST_REFUSALS:
                return
            # A slot that has just come is in no transfer. It grows by half, so that ragged batches seldom come here.
            self._unlock(slot)
            size = min(
                max(arena.rounded_up(used, arena.PAGE), size * 3 // 2 // arena.PAGE * arena.PAGE),
                self.arena.slot_bytes - arena.SMALL_AREA,
            )
            address = address_of(view) + arena.SMALL_AREA
            try:
                _pin(self.device, address, size)
            except _core.Error as error:
                self._refusals += 1
                arena.say(
                    str(error), "Batches are staged, which takes CPU cores. `ulimit -l` is what the system allows."
                )
                return
            self._locked[slot] = address, size
            arena.counts.locked_bytes += size

    def fits(self, groups: int, slots_each: int, size_bytes: int) -> bool:
        """Whether another arena of that kind would be the same."""
        its = self.arena
        return (its.groups, its.slots_each, its.size_bytes) == (groups, slots_each, size_bytes)

    def is_busy(self) -> bool:
        """Whether workers may still write to it."""
        return self.workers is None or any(worker.is_alive() for worker in self.workers)

    def reset(self) -> None:
        """Frees what workers that have ended had taken and not sent, for others that are about to be started."""
        with self._lock:
            for slot in range(self.arena.count):
                if slot not in self._leased:
                    self.arena.flags[slot] = 0
        self.arena.is_open = True
        self.workers = None

    def release(self) -> int:
        """Gives the page-locks of free slots back to the system; how many bytes. They are locked again when needed."""
        if os.getpid() != self._process:  # a forked child at its end
            return 0
        with self._lock:
            return sum(self._unlock(slot) for slot in list(self._locked) if slot not in self._leased)

    def _unlock(self, slot: int) -> int:
        address, size = self._locked.pop(slot, (0, 0))
        if size:
            _unpin(address)
            arena.counts.locked_bytes -= size
        return size

    def __del__(self) -> None:
        if os.getpid() == self._process:
            for slot in list(self._locked):
                self._unlock(slot)


def slots_of(token: int) -> Slots:
    """Those of an arena that was made in this process."""
    found = _slots.get(token)
    if found is None or found._process != os.getpid():
        raise _core.Error("a batch of turnpike.prefetch() was received in another process than the one that iterates")
    return found


def release_all() -> int:
    """Gives back the page-locked memory of all slots that are free now, and returns how many bytes."""
    return sum(slots.release() for slots in list(_slots.values()))


# Registered after the engine's: this comes before it is closed.
atexit.register(release_all)


def _pin(device: int, address: int, size_bytes: int) -> None:
    engine = _engine.engine()
    if engine is not None:
        engine.pin(address, size_bytes, device)


def _unpin(address: int) -> None:
    engine = _engine.engine()
    if engine is not None:
        engine.unpin(address)


def address_of(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_byte.from_buffer(view))
