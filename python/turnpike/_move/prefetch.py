"""tp.prefetch: the next batches cross while this one is worked on."""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move import loaders, receive
from turnpike._move.ahead import Ahead, Plain
from turnpike._move.late import torch

T = TypeVar("T")


def prefetch(
    iterable: Iterable[T],
    device: torch.device | str | int,
    depth: int = 2,
    *,
    dtype: torch.dtype | None = None,
    strict: bool = False,
) -> Prefetch[T]:
    """Wraps an iterable of batches so that the next batches are transferred to the GPU while the loop works on one.

        for batch in tp.prefetch(loader, "cuda"):
            ...

    The loop behaves like the plain loop: the same batches in the same order, the same random numbers, and exceptions
    in place of their batches. Without a GPU it is the plain loop. You may use a batch on the stream that was current
    when the loop received it. Leaving the loop early releases everything, after the batch that is being received.

    The first batch is handed out before others are taken; after that each request takes two, until `depth` are in
    flight. A thread receives the batches of a DataLoader with workers; everything else runs in the thread of the
    loop. A batch with a tensor that requires a gradient is transferred when the loop asks for it.

    The iterable may fill the same tensors for every batch, but it must not refill what is passed through, such as a
    NumPy array. Nothing is taken ahead, with a RuntimeWarning, if the iterable writes to the same tensor on the GPU
    again or draws from random number generators that the loop may use.

    Args:
        iterable: A DataLoader, or anything else to iterate over, as often as the result is. A batch is any nest that
            `to()` takes. With accelerate: what `accelerator.prepare()` returned, or pass the result to it.
        device: As for Tensor.to().
        depth: How many batches are in flight beside the one that the loop has. The GPU holds depth + 1.
        dtype: What to convert every tensor to, on the GPU.
        strict: Whether to raise turnpike.Error in place of a batch with an object that may hold tensors and is not
            moved.

    Returns:
        An iterable with the length and the attributes of `iterable`.

    Raises:
        ValueError: `depth` is less than 1.
    """
    if depth < 1:
        raise ValueError(f"depth is {depth}: at least one batch must be under way")
    return Prefetch(iterable, device, depth, dtype, strict)


@dataclasses.dataclass
class _Own:
    """What a Prefetch knows itself; every other attribute is its iterable's."""

    iterable: Any
    arguments: tuple[Any, int, Any, bool]  # device, depth, dtype, strict
    iterator: Any = None  # over an iterator there is one: what it has taken ahead is not lost when a loop is left
    resumable: loaders.Resumable | None = None
    warned: set[str] = dataclasses.field(default_factory=set)


class Prefetch(Generic[T]):
    """What `prefetch()` returns: iterates over batches on the GPU, and is otherwise the iterable that it wraps.

    For isinstance() it is a DataLoader if it wraps one.
    """

    def __init__(
        self,
        iterable: Iterable[T],
        device: torch.device | str | int,
        depth: int,
        dtype: torch.dtype | None,
        strict: bool = False,
    ) -> None:
        vars(self)["_turnpike"] = _Own(iterable, (device, depth, dtype, strict))

    def __iter__(self) -> Iterator[T]:
        own: _Own = self._turnpike
        if own.iterator is not None:
            return own.iterator
        name, depth, dtype, strict = own.arguments
        device = _engine.device_of(name)
        engine = _engine_for(device)
        found: Ahead | Plain
        if engine is None:
            found = Plain(own.iterable, device, dtype, strict)
        else:
            own.resumable = loaders.Resumable(own.iterable) if loaders.has_state(own.iterable) else None
            found = Ahead(
                engine, own.iterable, device, depth, dtype, strict=strict, resumable=own.resumable, warned=own.warned
            )
        if receive.goes_on(own.iterable):
            own.iterator = found
        return found

    # The rest is the iterable's.

    def __len__(self) -> int:
        return len(self._turnpike.iterable)

    def __bool__(self) -> bool:
        return bool(self._turnpike.iterable)

    def __contains__(self, item: Any) -> bool:
        return item in self._turnpike.iterable

    def __getattr__(self, name: str) -> Any:
        if "_turnpike" not in vars(self):
            raise AttributeError(name)
        if name in ("state_dict", "load_state_dict"):
            return self._of_state(name, getattr(self._turnpike.iterable, name))
        if name == "_is_accelerate_prepared":
            return self._is_prepared(sys._getframe(1))
        if name == "__pl_saved_args":  # asked for before a loader is made anew
            raise _core.Error(
                "Lightning would make a loader of its own out of turnpike.prefetch(loader), to give it another "
                "sampler, and that one would not prefetch. Pass the loader itself to Lightning, or "
                "Trainer(use_distributed_sampler=False) and a loader with the sampler that it needs."
            )
        return getattr(self._turnpike.iterable, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._turnpike.iterable, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._turnpike.iterable, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self._turnpike.iterable)})

    def __repr__(self) -> str:
        device, depth, _, _ = self._turnpike.arguments
        return f"turnpike.prefetch({self._turnpike.iterable!r}, {str(device)!r}, depth={depth})"

    def __reduce__(self) -> Any:
        return Prefetch, (self._turnpike.iterable, *self._turnpike.arguments)

    def __copy__(self) -> Prefetch[T]:
        return Prefetch(copy.copy(self._turnpike.iterable), *self._turnpike.arguments)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        data = sys.modules.get("torch.utils.data")
        iterable = self._turnpike.iterable if "_turnpike" in vars(self) else None
        if data is None or not isinstance(iterable, data.DataLoader):
            return Prefetch
        kind: type = type(iterable)
        return _class_like(kind, iterable.__class__)

    def _of_state(self, name: str, found: Any) -> Any:
        own: _Own = self._turnpike
        if name == "state_dict":
            if own.resumable is None or own.resumable.shown is None:
                return found
            shown = own.resumable.shown
            return lambda: copy.deepcopy(shown)

        def load_state_dict(*arguments: Any, **keywords: Any) -> Any:
            if own.resumable is not None:
                own.resumable.shown = None
            return found(*arguments, **keywords)

        return load_state_dict

    def _is_prepared(self, asking: Any) -> bool:
        """accelerate asks whether this is prepared already: it is, once what it wraps has been."""
        if getattr(self._turnpike.iterable, "_is_accelerate_prepared", False):
            return True
        names = asking.f_locals
        if asking.f_code.co_name != "prepare_data_loader" or names.get("data_loader") is not self:
            raise AttributeError("_is_accelerate_prepared")
        accelerator = names["self"]
        options = {name: names[name] for name in ("device_placement", "slice_fn_for_dispatch") if name in names}
        prepared = accelerator.prepare_data_loader(self._turnpike.iterable, **options)
        # This object takes its place for save_state(): its state is that of the batch that the loop has.
        accelerator._dataloaders[:] = [one for one in accelerator._dataloaders if one is not prepared]
        self._turnpike.iterable = prepared
        return True


def _engine_for(device: torch.device) -> _core.MoveEngine | None:
    return _engine.engine() if device.type == "cuda" else None


@functools.lru_cache(maxsize=64)
def _class_like(kind: type, said: type) -> type:
    # accelerate's loaders say that they are DataLoaders, and are of another type: this is both.
    return kind if issubclass(kind, said) else type(kind.__name__, (kind, said), {})
