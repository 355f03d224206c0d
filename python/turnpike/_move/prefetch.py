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
    """Wraps an iterable of batches, so that the next `depth` of them cross to the GPU while one is worked on.

        for batch in tp.prefetch(loader, "cuda"):
            ...

    iterable: a DataLoader, or anything that can be iterated over; a batch is any nest that tp.to() takes. Its length
        and its attributes are those of the result, and it can be iterated over as often. With accelerate, what
        `accelerator.prepare()` returned; `accelerator.prepare(tp.prefetch(...))` does the same.
    depth: how many batches are under way beside the one that was handed out; the GPU holds depth + 1.
    dtype: what every tensor is converted to, on the GPU.
    strict: raises turnpike.Error in place of a batch that holds something that may hold tensors and is not moved.

    Batches are taken from the iterable while the next one is asked for; the first is handed out before others are
    taken, and then two for each until `depth` are ahead. Those of a DataLoader with workers are received by a thread,
    as the DataLoader does it for pin_memory; everything else runs in the thread of the loop. An exception of the
    iterable is raised in place of the batch that it belongs to, and who catches it may go on. Leaving the loop early
    releases everything, after the batch that is being received. A batch may be used on the stream that is current when
    it is handed out.

    The iterable may fill the same tensors for every batch, as for a plain loop: its first depth + 3 batches show that,
    and then it is asked for the next one when those before have been read. One that writes to
    a tensor on the GPU again is not taken ahead, with a RuntimeWarning. Do not fill again what is passed through, such
    as an array of NumPy.

    The loop sees the states of the random number generators, and of loaders with state_dict(), as if nothing were taken
    ahead. Where that cannot be, since the iterable draws from the generators that the loop may use, nothing is taken
    ahead, with a RuntimeWarning. A batch with a tensor that requires a gradient crosses when it is asked for.
    Without a GPU this is a plain loop.
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
    """What :func:`prefetch` returns: iterates over batches on the GPU, and else is the iterable that it wraps.

    Over a DataLoader it counts as one for isinstance().
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
