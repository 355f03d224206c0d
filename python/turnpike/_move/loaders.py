"""What a loader lets its loop see beside the batches: accelerate's end of an epoch, and states to resume from.

Taken ahead, a batch changes that too early. So it is put back, and set when the batch is handed over.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Iterator
from typing import Any

from turnpike._move import engine as _engine
from turnpike._move.late import torch

# Of what accelerate.prepare() makes: what `accumulate()`, `gather_for_metrics()` and `save_state()` look at.
_SEEN = ("end_of_dataloader", "remainder", "iteration", "dl_state_dict")
_UNSET = object()

# For each loader of accelerate that is being iterated over: its values of _SEEN, and whether it is active.
View = list[tuple[dict[str, Any], bool]]


class Prepared:
    """The accelerate loaders that an iteration goes through: the iterable itself, or loaders that it wraps."""

    def __init__(self, iterable: Any, device: torch.device) -> None:
        self._state = _gradient_state()
        self._former = self._active()
        self._loaders: list[Any] = []
        self._theirs: View = []  # as the source sees them, which may be batches ahead of the loop
        own = getattr(iterable, "device", None)
        self._placing = None
        if hasattr(iterable, "gradient_state") and own is not None and _engine.device_of(own) == device:
            self._placing = iterable

    def has_begun(self) -> None:
        """After the first batch: now its loaders are known."""
        former = [id(one) for one in self._former]  # a loop that was left keeps its loader there: it may be this one
        for loader in self._active():
            if id(loader) in former:
                former.remove(id(loader))
            elif not any(loader is one for one in self._loaders):
                self._loaders.append(loader)
        self._former = []
        self._theirs = self._view()

    def refusal(self) -> str | None:
        """Why no batch may be taken ahead."""
        if any(type(loader).__name__ == "DataLoaderDispatcher" for loader in self._loaders):
            return (
                "accelerate's DataLoaderDispatcher sends each batch from one process to all when they ask for it, so "
                "all must ask at the same time, and it puts the batch on the GPU itself. Pass dispatch_batches=False "
                "to accelerate's DataLoaderConfiguration"
            )
        return None

    def take_unplaced(self, source: Any, block: bool) -> Any:
        """The next batch of a receive.Source. accelerate leaves it in the memory of the host."""
        if self._placing is None:
            return source.take(block)
        device, self._placing.device = self._placing.device, None
        try:
            return source.take(block)
        finally:
            self._placing.device = device

    def taken_ahead(self) -> contextlib.AbstractContextManager[list[Any]]:
        """While a batch is taken early. Fills the list with what handed_over() is to set."""
        return self._put_back() if self._loaders else contextlib.nullcontext([])

    @contextlib.contextmanager
    def _put_back(self) -> Iterator[list[Any]]:
        before, references = self._view(), self._references()
        for loader, (values, _) in zip(self._loaders, self._theirs, strict=True):
            _set(loader, values)
        changes: list[Any] = []
        try:
            yield changes
        finally:
            after = self._view()
            for loader, theirs, (values, is_active), ours in zip(
                self._loaders, self._theirs, after, before, strict=True
            ):
                changed = {name: value for name, value in values.items() if value is not theirs[0][name]}
                changes.append((loader, changed, theirs[1] and not is_active))
                _set(loader, ours[0])
            self._theirs = [(values, is_active) for values, is_active in after]
            self._state.dataloader_references = references

    def handed_over(self, changes: list[Any]) -> None:
        """Sets what taking the batch has changed."""
        for loader, changed, has_ended in changes:
            _set(loader, changed)
            if has_ended:
                self._state._remove_dataloader(loader)

    def _active(self) -> list[Any]:
        return [loader for loader in self._references() if loader is not None]

    def _references(self) -> list[Any]:
        return [] if self._state is None else list(self._state.dataloader_references)

    def _view(self) -> View:
        active = self._active()
        return [
            (
                {name: vars(loader).get(name, _UNSET) for name in _SEEN},
                any(one is loader for one in active),
            )
            for loader in self._loaders
        ]


def _gradient_state() -> Any:
    module = sys.modules.get("accelerate.state")
    # Without an Accelerator there is no such state, and asking for it must not create one.
    return module.GradientState() if module is not None and module.GradientState._shared_state else None


def _set(loader: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if value is _UNSET:
            vars(loader).pop(name, None)
        else:
            vars(loader)[name] = value


class Resumable:
    """The state of a loader with state_dict(), as of the batch that the loop got last."""

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable
        self.shown: Any = None  # None: nothing was taken ahead, and the loader knows best

    def taken(self) -> Any:
        """A snapshot, to be shown when the batch that was just taken is handed over. None: it has none now."""
        try:
            return copy.deepcopy(self._iterable.state_dict())
        except Exception:  # who asks for it will get that
            return None


def has_state(iterable: Any) -> bool:
    """Whether its state is to be kept for each batch. Those of accelerate keep it themselves: see _SEEN."""
    return callable(getattr(iterable, "state_dict", None)) and not hasattr(iterable, "gradient_state")
