"""The move calls in two ways: as a user writes them with plain PyTorch, and as Turnpike's."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch


class Plain:
    """Plain PyTorch: the oracle."""

    is_tp = False

    def to(self, nest: Any, device: Any, *, dtype: Any = None, stream: Any = None, non_blocking: bool = False) -> Any:
        if stream is not None:
            with torch.cuda.stream(stream):
                return self.to(nest, device, dtype=dtype, non_blocking=non_blocking)
        keywords = {name: value for name, value in (("dtype", dtype), ("non_blocking", non_blocking)) if value}
        return _rebuilt(nest, lambda leaf: leaf.to(device, **keywords), {})

    def prefetch(self, loader: Iterable[Any], device: Any, depth: int = 2, *, dtype: Any = None) -> Any:
        return _Loop(loader, lambda batch: self.to(batch, device, dtype=dtype))

    def fetch(self, tensor: torch.Tensor) -> Any:
        return _Fetched(tensor.detach().clone().cpu())

    def scalars(self, every: int = 1) -> Any:
        return _Scalars()

    def copy_(self, dst: torch.Tensor, src: torch.Tensor) -> Any:
        dst.copy_(src)
        return _Work()

    def pin_(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def unpin_(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def pipeline(
        self, fn: Callable[[Any], Any], inputs: Iterable[Any], device: Any, depth: int = 3, *, out: Any = None
    ) -> Iterator[Any]:
        for index, item in enumerate(inputs):
            result = fn(self.to(item, device))
            if out is None:
                yield self.to(result, "cpu")
            else:
                yield out[index].copy_(result)

    def moved_bytes(self) -> int | None:
        """What the engine has moved to the GPU; None: there is no engine."""
        return None


class Turnpike:
    """The calls under test."""

    is_tp = True

    def __init__(self) -> None:
        import turnpike as tp

        self._tp = tp
        for name in ("to", "prefetch", "fetch", "copy_", "pin_", "unpin_", "pipeline"):
            setattr(self, name, getattr(tp, name))

    def scalars(self, every: int = 1) -> Any:
        return self._tp.Scalars(every=every)

    def moved_bytes(self) -> int | None:
        return self._tp.move_stats().h2d.bytes


def of_name(name: str) -> Any:
    return {"plain": Plain, "tp": Turnpike}[name]()


class _Loop:
    """A loop that moves each batch, with the loader's attributes."""

    def __init__(self, loader: Any, move: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "_loader", loader)
        object.__setattr__(self, "_move", move)

    def __iter__(self) -> Any:
        # An iterator of its own kind: a generator would end with the first exception of the loader.
        return _LoopIterator(iter(self._loader), self._move)

    def __len__(self) -> int:
        return len(self._loader)

    def __bool__(self) -> bool:
        return bool(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader, name, value)


class _LoopIterator:
    def __init__(self, batches: Iterator[Any], move: Callable[[Any], Any]) -> None:
        self._batches = batches
        self._move = move

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._move(next(self._batches))


@dataclasses.dataclass
class _Fetched:
    value: torch.Tensor

    def ready(self) -> bool:
        return True

    def result(self) -> torch.Tensor:
        return self.value

    def item(self) -> Any:
        return self.value.item()


class _Work:
    def wait(self) -> None: ...

    def synchronize(self) -> None: ...

    def done(self) -> bool:
        return True


class _Scalars:
    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._next = 0

    def add(self, step: int | None = None, **values: Any) -> None:
        number = self._next if step is None else step
        self._next = number + 1
        read = {name: value.item() if isinstance(value, torch.Tensor) else value for name, value in values.items()}
        self._rows.append((number, read))

    def ready(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    finish = ready


def _rebuilt(nest: Any, move: Callable[[Any], Any], done: dict[int, Any]) -> Any:
    """The nest with every tensor moved, as a user would write it. A tensor that occurs twice moves once."""
    if isinstance(nest, torch.Tensor):
        if id(nest) not in done:
            done[id(nest)] = move(nest)
        return done[id(nest)]

    def again(item: Any) -> Any:
        return _rebuilt(item, move, done)

    if isinstance(nest, (str, bytes, type)):
        return nest
    if isinstance(nest, collections.UserDict):  # a BatchEncoding
        new = copy.copy(nest)
        new.data = {key: again(value) for key, value in nest.items()}
        return new
    if callable(getattr(type(nest), "to", None)):  # it moves itself
        return move(nest)
    if isinstance(nest, collections.defaultdict):
        return collections.defaultdict(nest.default_factory, {key: again(value) for key, value in nest.items()})
    if isinstance(nest, Mapping):
        return type(nest)({key: again(value) for key, value in nest.items()})
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(again(item) for item in nest))
    if isinstance(nest, collections.deque):
        return collections.deque((again(item) for item in nest), nest.maxlen)
    if isinstance(nest, (list, tuple)):
        return type(nest)(again(item) for item in nest)
    if isinstance(nest, types.SimpleNamespace):
        return types.SimpleNamespace(**{name: again(value) for name, value in vars(nest).items()})
    if dataclasses.is_dataclass(nest):
        new = copy.copy(nest)
        new.__dict__.clear()
        for name, value in vars(nest).items():
            # What a cached property kept is computed again from what was moved.
            if not isinstance(getattr(type(nest), name, None), functools.cached_property):
                new.__dict__[name] = again(value)
        return new
    return nest
