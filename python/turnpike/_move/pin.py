"""tp.pin_, tp.unpin_ and tp.pinned: page-locks the memory that a tensor already has."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator

from turnpike._move import engine as _engine
from turnpike._move import tree
from turnpike._move.late import torch

_lock = threading.RLock()
_locked: dict[int, _Locked] = {}


class _Locked:
    """A storage whose memory is page-locked: how often that was asked for, and who undoes it when the storage goes."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.count = 0
        # Called before the memory is freed, which must not be page-locked any more by then.
        self.release = weakref.finalize(storage, _unlock, storage.data_ptr())
        self.release.atexit = False  # the process's end undoes it


def pin_(tensor: torch.Tensor) -> torch.Tensor:
    """Page-locks the memory of a tensor of the host where it is: no copy, and no more memory.

        weights = tp.pin_(torch.load("weights.pt", mmap=False))

    The whole storage is locked, also for its other views, until tp.unpin_() was called as often, or the last tensor
    of it is gone. Returns the tensor. Memory that is page-locked already, or empty, is left as it is; so is all where
    there is no GPU.

    Raises turnpike.Error for memory that cannot be locked in place: a file's (torch.load(mmap=True)), more than the
    system allows (ulimit -l); ValueError for a tensor that is not in host memory.
    """
    storage = _storage_of(tensor, "pin_")
    engine = _engine.engine()
    if engine is None or storage.nbytes() == 0:
        return tensor
    _engine.refuse_capture("turnpike.pin_()")
    address = storage.data_ptr()
    with _lock:
        locked = _locked.get(address)
        if locked is None:
            if tensor.is_pinned():
                return tensor
            engine.pin(address, storage.nbytes())
            locked = _locked[address] = _Locked(storage)
        locked.count += 1
    return tensor


def unpin_(tensor: torch.Tensor) -> torch.Tensor:
    """Undoes tp.pin_(), once it was called as often as that: waits for the GPUs first. Returns the tensor.

    Memory that tp.pin_() did not lock is left as it is.
    """
    storage = _storage_of(tensor, "unpin_")
    if storage.nbytes() == 0:
        return tensor
    with _lock:
        locked = _locked.get(storage.data_ptr())
        if locked is not None:
            locked.count -= 1
            if locked.count == 0:
                locked.release()
    return tensor


@contextlib.contextmanager
def pinned(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Page-locks the memory of a tensor for the length of a block, as tp.pin_() does. The value is the tensor.

    with tp.pinned(weights):
        on_gpu = weights.to("cuda", non_blocking=True)

    At the end of the block it waits for the GPUs, so that copies begun inside have run.
    """
    pin_(tensor)
    try:
        yield tensor
    finally:
        unpin_(tensor)


def _storage_of(tensor: torch.Tensor, call: str) -> torch.UntypedStorage:
    if tensor.device.type != "cpu":
        raise ValueError(f"turnpike.{call}() is for host memory; {tree.describe(tensor, tensor)} is on {tensor.device}")
    if tensor.layout is not torch.strided:
        raise ValueError(f"turnpike.{call}() is for one block of memory; {tree.describe(tensor, tensor)} is sparse")
    return tensor.untyped_storage()


def _unlock(address: int) -> None:
    engine = _engine.engine()
    with _lock:
        if _locked.pop(address, None) is not None and engine is not None:
            engine.unpin(address)
