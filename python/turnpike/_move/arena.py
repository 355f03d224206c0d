"""Shared memory in which the batches of one DataLoader are made: slots that this process page-locks.

1. The arena is made before the workers are: a memfd of the most that it may take, mapped. It takes no memory until it
   is written to, so nobody has to know how large a batch is. Forked workers inherit the mapping, others get the file.
   It has no name: it is gone with the last process, however that ends.
2. It is cut into slots, as many as batches can be under way. Each worker has slots of its own. A byte in the first page
   says that one is taken: its worker sets it, this process clears it. No lock, so none that a killed worker holds.
3. In a worker default_collate stacks into the slot (collate.py). Other tensors are copied there when the batch is
   sent, where PyTorch would have copied them into new shared memory. The slot and their places are sent (wire.py).
4. Here, what was used of a slot is page-locked when it first comes. The tensors made over it keep the slot: it is
   free again when the last of them is gone, that is, when the engine has read it or the link's copies have run.
5. Tensors below SMALL_BYTES lie in a part that is never page-locked: the engine packs those with the CPU.
6. Whatever finds no slot, does not fit or is no plain tensor goes PyTorch's way, tensor by tensor. Where a slot cannot
   be page-locked, its batch is staged like any other. Both are counted; what can be mended is said once.
7. An arena is kept with its loader for the next epoch, once the workers of the last one have ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import mmap
import os
import warnings
from typing import Any

# Below, tensors that cross together are packed by the CPU (src/move/plan.h): they gain nothing by being page-locked.
SMALL_BYTES = 256 << 10
SMALL_AREA = 2 << 20
PAGE = mmap.PAGESIZE
_LEAST_SLOT = SMALL_AREA + (1 << 20)

_tokens = itertools.count()
_limit: int | None = None
_said: set[str] = set()


@dataclasses.dataclass
class Counts:
    """What came of the batches that could have been born page-locked, in this process."""

    batches: int = 0
    elsewhere: int = 0
    locked_bytes: int = 0


counts = Counts()


def limit_bytes() -> int:
    """The most shared memory for the batches of one DataLoader: what was set, or an eighth of the memory."""
    return _default_limit() if _limit is None else _limit


def set_limit(size_bytes: int) -> None:
    """For the loaders that are iterated over from now on. 0: none."""
    global _limit
    _limit = size_bytes


def _default_limit() -> int:
    memory = os.sysconf("SC_PHYS_PAGES") * PAGE
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            memory = min(memory, int(file.read()))
    return memory // 8


def say(reason: str, remedy: str) -> None:
    """Warns, once for each remedy."""
    if remedy not in _said:
        _said.add(remedy)
        warnings.warn(
            f"turnpike.prefetch() cannot have batches of a DataLoader made in page-locked memory, and copies them "
            f"instead: {reason}. {remedy}",
            RuntimeWarning,
            stacklevel=2,
        )


def rounded_up(value: int, to: int) -> int:
    return -(-value // to) * to


class Arena:
    """The memory, in each process that maps it."""

    def __init__(self, groups: int, slots_each: int, size_bytes: int) -> None:
        """groups: workers, with so many slots each. Raises OSError where the system refuses the memory."""
        self.groups, self.slots_each, self.size_bytes = groups, slots_each, size_bytes
        self.token = next(_tokens)
        self._file = os.memfd_create("turnpike batches")
        self._first = rounded_up(self.count + 1, PAGE)
        self.slot_bytes = (size_bytes - self._first) // self.count // PAGE * PAGE
        if self.slot_bytes < _LEAST_SLOT:
            raise OSError(f"{size_bytes >> 20} MiB for {self.count} slots are too little")
        os.ftruncate(self._file, self._first + self.count * self.slot_bytes)
        self._map()
        self.is_open = True

    @property
    def count(self) -> int:
        return self.groups * self.slots_each

    def slots_of(self, group: int) -> range:
        return range(group * self.slots_each, (group + 1) * self.slots_each)

    def view(self, slot: int) -> memoryview:
        """The memory of a slot. A view keeps the mapping."""
        start = self._first + slot * self.slot_bytes
        return self._memory[start : start + self.slot_bytes]

    @property
    def is_open(self) -> bool:
        """Whether workers are to use it: not when a loader whose workers persist is iterated over without us."""
        return self.flags[self.count] != 0

    @is_open.setter
    def is_open(self, value: bool) -> None:
        self.flags[self.count] = value

    def _map(self) -> None:
        self._memory = memoryview(mmap.mmap(self._file, 0))
        self.flags = self._memory[: self.count + 1]

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._file)

    def __getstate__(self) -> dict[str, Any]:
        # To a worker that is not forked.
        from multiprocessing import reduction

        state = {name: value for name, value in vars(self).items() if name not in ("_memory", "flags")}
        return {**state, "_file": reduction.DupFd(self._file)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _file=state["_file"].detach())
        self._map()
