"""Objects that move themselves, begun early: their .to() runs on a stream of its own while the loop works."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from turnpike._move.late import torch


class Aside:
    """The stream of one loop for such objects."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: torch.cuda.Stream | None = None
        self._is_of_use = device.type == "cuda"

    def start(self, move: Callable[[], Any]) -> Early | None:
        """Calls move(); None: there is no GPU that it could run beside, or such an object had to be moved again."""
        if not self._is_of_use:
            return None
        if self._stream is None:
            self._stream = torch.cuda.Stream(self._device)
        early = Early(move, self._stream, torch.cuda.current_stream(self._device))
        self._is_of_use = early.is_clear
        return early


class Early:
    """An object that has moved itself, or has tried to."""

    def __init__(self, move: Callable[[], Any], side: torch.cuda.Stream, loop: torch.cuda.Stream) -> None:
        self._move = move
        self._result: Any = None
        seen = _recorder()(side, loop)
        # The loop may use a normal tensor in any mode; an inference tensor only in inference mode.
        is_grad_enabled = torch.is_grad_enabled()  # which leaving inference mode would change
        with torch.cuda.stream(side), torch.inference_mode(False), torch.set_grad_enabled(is_grad_enabled):
            try:
                with seen:
                    self._result = move()
            except Exception:  # it is the loop's, when it asks for the batch
                seen.is_clear = False
            self.done = side.record_event()
        self.is_clear, self._made = seen.is_clear, seen.made

    def hand_over(self, stream: torch.cuda.Stream) -> Any:
        """The result, for use on a stream."""
        stream.wait_event(self.done)
        for tensor in self._made:
            for part in _parts(tensor):
                part.record_stream(stream)
        self._made = []
        return self._result if self.is_clear else self._move()


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that it consists of; none: unknown."""
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor] if tensor.layout is torch.strided and not tensor.is_nested else []


@functools.cache
def _recorder() -> Any:
    from torch.utils import _pytree as pytree
    from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

    class Recorder(TorchDispatchMode):
        """Keeps every tensor that is made on the side stream: each must be known to the stream that will use it."""

        def __init__(self, side: torch.cuda.Stream, loop: torch.cuda.Stream) -> None:
            super().__init__()
            self.made: list[torch.Tensor] = []
            self.is_clear = True  # nothing depends on when and where it ran
            self._known: set[int] = set()
            self._side, self._loop = side, loop

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            for tensor in _tensors_in((args, kwargs)):
                if id(tensor) not in self._known and _is_within_reach(tensor):
                    self._side.wait_stream(self._loop)  # which may still be writing it
                self.is_clear &= not (tensor.requires_grad and torch.is_grad_enabled())
            result = func(*args, **kwargs)
            for tensor in _tensors_in(result):
                if is_traceable_wrapper_subclass(tensor) or not _parts(tensor):
                    self.is_clear = False
                elif tensor.is_cuda and id(tensor) not in self._known:
                    self._known.add(id(tensor))
                    self.made.append(tensor)
            return result

    def _is_within_reach(tensor: torch.Tensor) -> bool:
        return tensor.is_cuda or (tensor.layout is torch.strided and tensor.is_pinned())

    def _tensors_in(nest: Any) -> list[torch.Tensor]:
        return [leaf for leaf in pytree.tree_leaves(nest) if isinstance(leaf, torch.Tensor)]

    return Recorder
