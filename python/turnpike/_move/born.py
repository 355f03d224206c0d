"""Iterates over a DataLoader whose batches are made in page-locked memory, where it allows that."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from turnpike._move import arena, collate
from turnpike._move import slots as _slots

# Beside the batches that may have been taken: the one whose copies have run and whose memory is yet to be let go, and
# the one that is being taken.
_SPARE = 2

_kept: weakref.WeakKeyDictionary[Any, _slots.Slots] = weakref.WeakKeyDictionary()


def iterator_of(iterable: Iterable[Any], most: int, device: int) -> Iterator[Any]:
    """iter(iterable). most: how many batches may have been taken and not handed over. device: the GPU they are for.

    The loader stays as it is: what is iterated over is a copy with another collate_fn, which calls its own.
    """
    if not is_pytorchs_own(iterable) or arena.limit_bytes() == 0:
        return iter(iterable)
    loader: Any = iterable
    if loader.num_workers > 0:
        return _with_workers(loader, most, device)
    data = sys.modules["torch.utils.data"]
    slots = _slots_for(loader, 1, most + _SPARE, device) if loader.collate_fn is data.default_collate else None
    if slots is None:
        return iter(loader)
    slots.workers = ()
    return _with_collate(loader, collate.Here(slots))._get_iterator()


def release() -> int:
    """Gives back the page-locked memory that is not in use, and the arenas that nobody iterates in; how many bytes."""
    before = arena.counts.locked_bytes
    for loader in [loader for loader, slots in list(_kept.items()) if not slots.is_busy()]:
        del _kept[loader]
    _slots.release_all()
    return before - arena.counts.locked_bytes


def is_pytorchs_own(iterable: Any) -> bool:
    """Whether it is a DataLoader that iterates as PyTorch's does, and that can be remembered."""
    return iterates_as_pytorch(iterable) and isinstance(iterable, Hashable)


def iterates_as_pytorch(iterable: Any) -> bool:
    """Whether it is a DataLoader with PyTorch's own iterator: a class with another one may do anything there."""
    data = sys.modules.get("torch.utils.data")  # who has a DataLoader has imported it
    if data is None or not isinstance(iterable, data.DataLoader):
        return False
    names = ("__iter__", "_get_iterator")
    return all(getattr(type(iterable), name, None) is getattr(data.DataLoader, name, None) for name in names)


def _with_workers(loader: Any, most: int, device: int) -> Iterator[Any]:
    if not loader.persistent_workers:
        iterator = _begun(loader, most, device)
        return iter(loader) if iterator is None else iterator
    if loader._iterator is None:
        # As DataLoader.__iter__ does it: the workers are the loader's, whoever iterates over it next.
        loader._iterator = iterator = _begun(loader, most, device)
        return iter(loader) if iterator is None else _Iteration(iterator._collate_fn.slots, lambda: iterator)
    function = loader._iterator._collate_fn
    if not isinstance(function, collate.InWorker) or function.slots is None:
        return iter(loader)  # they were started without us
    return _Iteration(function.slots, lambda: iter(loader))


def _begun(loader: Any, most: int, device: int) -> Any:
    """A new iterator whose workers use slots; None where there can be none."""
    workers = loader.num_workers
    # Batches are made in turns, so that those taken come from all workers evenly.
    slots = _slots_for(loader, workers, loader.prefetch_factor + -(-(most + _SPARE) // workers), device)
    if slots is None:
        return None
    try:
        iterator = _with_collate(loader, collate.InWorker(loader.collate_fn, slots))._get_iterator()
    except BaseException:
        _kept.pop(loader, None)
        raise
    slots.workers = iterator._workers
    return iterator


def _with_collate(loader: Any, function: Any) -> Any:
    clone = object.__new__(type(loader))
    vars(clone).update(vars(loader))
    clone.collate_fn = function
    return clone


def _slots_for(loader: Any, groups: int, slots_each: int, device: int) -> _slots.Slots | None:
    kept = _kept.get(loader)
    limit = arena.limit_bytes()
    if kept is not None and kept.fits(groups, slots_each, limit) and not kept.is_busy():
        kept.reset()
        return kept
    try:
        slots = _slots.Slots(arena.Arena(groups, slots_each, limit), device)
    except OSError as error:
        arena.say(str(error), "turnpike.configure_move(batch_bytes=...) sets how much shared memory they may take.")
        return None
    _kept[loader] = slots
    return slots


class _Iteration:
    """One iteration over workers that persist: they use slots as long as it is there, or until the next has begun."""

    def __init__(self, slots: _slots.Slots, begin: Callable[[], Iterator[Any]]) -> None:
        self._slots, self._ticket = slots, object()
        slots.user = self._ticket
        slots.arena.is_open = True
        self._iterator = begin()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._iterator)

    def __del__(self) -> None:
        if self._slots.user is self._ticket:
            self._slots.arena.is_open = False
