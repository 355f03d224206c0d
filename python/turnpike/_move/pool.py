"""Memory for what comes to the host: new, or page-locked memory that is used again, as far as the program allows it.

Page-locked results cross at the rate of the link, and new ones wait for the system to clear their pages. But whoever
uploads a page-locked tensor with non_blocking=True may not write to it until the copy has run, and with the result of
Tensor.cpu() he may. So nobody gets one who has not asked for it: configure_move(results_bytes=).

The memory is that of PyTorch's cache of page-locked memory, which knows of copies under way when a tensor dies.
"""

from __future__ import annotations

import functools
import itertools
import threading
import warnings
import weakref

from turnpike._move.late import torch

# Smaller ones gain nothing.
_LEAST_BYTES = 1 << 20

_lock = threading.Lock()
_limit_bytes = 0
_tokens = itertools.count()


class _Size:
    """What was taken of one size of PyTorch's blocks, powers of two: the most at a time, which its cache keeps."""

    def __init__(self) -> None:
        self.most = 0
        self.alive: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def watch(self, storage: torch.UntypedStorage) -> None:
        # A function of C ends it, which no interrupt can.
        token = next(_tokens)
        self.alive[token] = weakref.ref(storage, functools.partial(self.alive.pop, token))


_sizes: dict[int, _Size] = {}


def empty_like(tensor: torch.Tensor) -> tuple[torch.Tensor, bool]:
    """A tensor of the host of its shape, strides and dtype, for it to be copied to; and whether it is page-locked."""
    if tensor.nbytes < _LEAST_BYTES or not _limit_bytes:
        return _new(tensor, is_pinned=False), False
    block_bytes = 1 << (tensor.nbytes - 1).bit_length()
    with _lock:
        size = _sizes.setdefault(block_bytes, _Size())
        if len(size.alive) >= size.most:
            if taken_bytes() + block_bytes > _limit_bytes:
                return _new(tensor, is_pinned=False), False
        try:
            host = _new(tensor, is_pinned=True)
        except RuntimeError as error:
            warnings.warn(f"a result is not page-locked: {error}", RuntimeWarning, stacklevel=2)
            return _new(tensor, is_pinned=False), False
        size.watch(host.untyped_storage())
        size.most = max(size.most, len(size.alive))
    return host, True


def _new(tensor: torch.Tensor, is_pinned: bool) -> torch.Tensor:
    return torch.empty_like(tensor, device="cpu", requires_grad=False, pin_memory=is_pinned)


def taken_bytes() -> int:
    """The page-locked memory of results that are alive, and of those before that PyTorch keeps for the next."""
    return sum(block_bytes * size.most for block_bytes, size in list(_sizes.items()))


def limit_bytes() -> int:
    """The most that it takes."""
    return _limit_bytes


def configure(new_limit_bytes: int) -> None:
    """Sets the limit. What is taken beyond it is given back."""
    global _limit_bytes
    if new_limit_bytes < 0:
        raise ValueError(f"results_bytes is {new_limit_bytes}: it cannot be negative")
    _limit_bytes = new_limit_bytes
    if taken_bytes() > _limit_bytes:
        release()


def release() -> int:
    """Gives back what no result uses, with the rest of PyTorch's cache of page-locked memory. Returns the bytes."""
    empty_cache = getattr(torch._C, "_host_emptyCache", None)
    if empty_cache is None or not _sizes:
        return 0  # this PyTorch keeps it to the end
    with _lock:
        before = taken_bytes()
        empty_cache()
        for size in _sizes.values():
            size.most = len(size.alive)
        return before - taken_bytes()
