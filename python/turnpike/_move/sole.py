"""Whether what a function returned can be reached by nobody else, who might write to it before it has been copied."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from turnpike._move.late import torch


def call(fn: Callable[[Any], Any], item: Any) -> tuple[Any, set[int]]:
    """What fn(item) returns, and the ids of its tensors that are certain to be known to the caller alone.

    Certain is what PyTorch's allocator owns and as many references lead to as to a tensor that was just made. All else
    may be written to by the next call: a static output, a graph's, memory of another library, the input itself.
    """
    result = fn(item)
    counts = _counts(result)
    kind: type = type(result)
    return result, {key for key, count in counts.items() if count == _of_new(kind)}


def _counts(result: Any) -> dict[int, tuple[int, ...]]:
    """For each tensor that is the result, or directly in it, the numbers of references on the way to its memory."""
    kind = type(result)
    if kind not in (torch.Tensor, list, tuple, dict) or not _can_count():
        return {}
    outer = sys.getrefcount(result)
    found: dict[int, tuple[int, ...]] = {}
    # By index: a name, or an iterator, would be one more reference.
    keys = list(result) if kind is dict else range(len(result)) if kind in (list, tuple) else (None,)
    for key in keys:
        if key is None and kind is torch.Tensor:
            found[id(result)] = (outer, *_of_tensor(result))
        elif type(result[key]) is torch.Tensor:
            found[id(result[key])] = (outer, sys.getrefcount(result[key]), *_of_tensor(result[key]))
    return found


def _of_tensor(tensor: torch.Tensor) -> tuple[int, ...]:
    storage = tensor.untyped_storage()
    return (
        tensor._use_count(),
        torch._C._storage_Use_Count(storage._cdata),
        weakref.getweakrefcount(tensor),
        sys.getrefcount(storage),
        weakref.getweakrefcount(storage),
        int(storage.resizable()),  # not of memory that is another library's, or the pool's of a graph
    )


@functools.cache
def _of_new(kind: type) -> tuple[int, ...]:
    """The counts for a result of this type that holds one tensor, which was just made."""

    def make(_: None) -> Any:
        new = torch.empty(1, device="cpu")
        return new if kind is torch.Tensor else {0: new} if kind is dict else kind((new,))

    return next(iter(_called(make)), ())


def _called(make: Callable[[None], Any]) -> list[tuple[int, ...]]:
    result = make(None)  # as call() has it
    counts = _counts(result)
    return list(counts.values())


def _can_count() -> bool:
    # Threads that run freely keep counts in several places. A compiler's graphs free and fill again what they gave.
    is_free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    has_graphs = "torch._inductor.cudagraph_trees" in sys.modules
    return not is_free and not has_graphs and _has_counters()


@functools.cache
def _has_counters() -> bool:
    counters = ((torch._C, "_storage_Use_Count"), (torch.Tensor, "_use_count"), (torch.UntypedStorage, "resizable"))
    return all(hasattr(holder, name) for holder, name in counters)
