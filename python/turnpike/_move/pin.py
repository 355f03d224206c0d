"""tp.pin_, tp.unpin_ and tp.pinned: page-locks the memory that a tensor already has."""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move import tree
from turnpike._move.late import torch

_lock = threading.RLock()
_locked: dict[int, _Locked] = {}


class _Locked:
    """A storage whose memory is page-locked: how often that was asked for, and who ends it when the storage dies.

    Both are functions of C, called before the memory is freed: an interrupt (Ctrl-C) cannot come in between.
    """

    def __init__(self, storage: torch.UntypedStorage, unlock: Callable[[Any], None]) -> None:
        self.count = 0
        self._unlock = weakref.ref(storage, unlock)
        self._forget = weakref.ref(storage, functools.partial(_locked.pop, storage.data_ptr()))

    def has_moved(self, address: int) -> bool:
        """Whether its storage left the memory behind PyTorch's back: somebody else has it now."""
        storage = self._unlock()
        return storage is None or storage.data_ptr() != address


def pin_(tensor: torch.Tensor) -> torch.Tensor:
    """Pins the memory of a tensor in place: no copy, and no additional memory.

        weights = tp.pin_(torch.load("weights.pt", mmap=False))

    The call pins the whole storage, for its other views too, until you have called `unpin_()` as often as `pin_()`,
    or the last tensor of the storage is gone. It does nothing for memory that is pinned already or empty, or without
    a GPU.

    If the storage moves to shared memory (share_memory_(), a queue or workers of torch.multiprocessing), the old
    memory is unpinned before, and the new memory pinned. From now on PyTorch refuses to resize the storage, as it
    does for one that a NumPy array shares.

    Args:
        tensor: A tensor in host memory, of any shape.

    Returns:
        The same tensor.

    Raises:
        turnpike.Error: The memory cannot be pinned in place: it is mapped from a file (torch.load(mmap=True)), or the
            system allows no more (ulimit -l). Or a CUDA graph is being captured.
        ValueError: The tensor is not in host memory, or sparse.
    """
    storage = _storage_of(tensor, "pin_")
    engine = _engine.engine()
    if engine is None or storage.nbytes() == 0:
        return tensor
    _engine.refuse_capture("turnpike.pin_()")
    _watch_moves()
    with _lock:
        locked = _lock_pages(engine, storage)
        if locked is not None:
            locked.count += 1
    return tensor


def unpin_(tensor: torch.Tensor) -> torch.Tensor:
    """Undoes `pin_()` once it has been called as often. Waits for the GPUs first.

    Memory that `pin_()` did not pin stays as it is.

    Args:
        tensor: A tensor of the storage that was pinned.

    Returns:
        The same tensor.
    """
    storage = _storage_of(tensor, "unpin_")
    if storage.nbytes() == 0:
        return tensor
    with _lock:
        address = storage.data_ptr()
        locked = _locked.get(address)
        engine = _engine.engine() if locked is not None else None
        if locked is not None and engine is not None:
            locked.count -= 1
            if locked.count <= 0:
                _unlock(engine, address)
    return tensor


@contextlib.contextmanager
def pinned(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Pins the memory of a tensor for a `with` block, as `pin_()` does.

        with tp.pinned(weights):
            on_gpu = weights.to("cuda", non_blocking=True)

    At its end the block waits for the GPUs, so that copies issued inside have run.

    Args:
        tensor: As for `pin_()`.

    Yields:
        The same tensor.

    Raises:
        turnpike.Error: As for `pin_()`.
        ValueError: As for `pin_()`.
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


def _lock_pages(engine: _core.MoveEngine, storage: torch.UntypedStorage) -> _Locked | None:
    """Locks its memory, or finds that it has. None: somebody else has locked it."""
    address = storage.data_ptr()
    locked = _locked.get(address)
    if locked is not None and locked.has_moved(address):
        _unlock(engine, address)
        locked = None
    is_pinned = storage.is_pinned()
    if locked is None and is_pinned:
        return None
    if locked is None:
        _refuse_resizing(storage)
        locked = _locked[address] = _Locked(storage, engine.unlocker(address))
    if not is_pinned:  # also where a call was interrupted here
        try:
            engine.pin(address, storage.nbytes(), torch.cuda.current_device())
        except _core.Error:
            del _locked[address]
            raise
    return locked


def _unlock(engine: _core.MoveEngine, address: int) -> None:
    engine.unpin(address)
    _locked.pop(address, None)


# What moves a storage to other memory. Freed while it is page-locked, the old memory would stay so for the driver, and
# the copies of whoever gets its addresses next would go to pages that nobody sees.


def _refuse_resizing(storage: torch.UntypedStorage) -> None:
    # resize_(), out= and set_() reallocate in C++, and look at a mark of the storage before. numpy() sets it.
    whole = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)
    with contextlib.suppress(RuntimeError):  # PyTorch without NumPy
        whole.numpy()


@functools.cache
def _watch_moves() -> None:
    for name in ("_share_fd_cpu_", "_share_filename_cpu_"):
        setattr(torch.UntypedStorage, name, _unlocked_meanwhile(getattr(torch.UntypedStorage, name)))


def _unlocked_meanwhile(move: Callable[..., Any]) -> Callable[..., Any]:
    # Whether it will move cannot be known: what is shared in the one way moves to be shared in the other.
    @functools.wraps(move)
    def unlock_move_lock(storage: torch.UntypedStorage, *args: Any, **keywords: Any) -> Any:
        # Without the lock, which a worker may have inherited locked: nearly all storages are none of these.
        engine = _engine.engine() if _locked and storage.data_ptr() in _locked else None
        if engine is None:
            return move(storage, *args, **keywords)
        with _lock:
            locked = _locked.get(storage.data_ptr())
            if locked is None:  # another thread has unlocked it meanwhile
                return move(storage, *args, **keywords)
            count = locked.count
            _unlock(engine, storage.data_ptr())
            try:
                return move(storage, *args, **keywords)
            finally:
                try:
                    again = _lock_pages(engine, storage)
                except _core.Error as error:
                    warnings.warn(f"shared memory could not be page-locked again: {error}", RuntimeWarning, 3)
                else:
                    if again is not None:
                        again.count = count

    return unlock_move_lock


# Before the engine is closed. The process's end undoes the locks.
atexit.register(_locked.clear)
