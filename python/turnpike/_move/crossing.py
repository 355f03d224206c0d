"""A batch of prefetch between the loader and the loop: under way, or kept until the loop asks for it."""

from __future__ import annotations

import functools
from typing import Any

from turnpike import _core
from turnpike._guard import moves
from turnpike._move import aside as _aside
from turnpike._move import engine as _engine
from turnpike._move import label, plan, refill, tree
from turnpike._move.late import torch
from turnpike._move.to import Upload, convert, move_itself, to


def send_off(
    engine: _core.MoveEngine,
    batch: Any,
    device: torch.device,
    dtype: torch.dtype | None,
    aside: _aside.Aside,
    keeps_memory: bool = False,
) -> Crossing | Kept:
    """Starts what can be started. Where that fails, what the plain call would raise is raised when the loop asks.

    keeps_memory: its reading has the memory of the batch.
    """
    memory = None
    try:
        tensors = tree.tensors_of(batch)
        memory = refill.Memory(tensors) if keeps_memory else None
        # Autograd would record the copy, where the loop is; and some conversions are the CPU's.
        if not any(tensor.requires_grad or plan.converts_on_cpu(tensor, dtype) for tensor in tensors):
            crossing = Crossing(engine, batch, tensors, device, dtype, aside)
            crossing.reading.memory = memory
            return crossing
    except Exception:  # so little memory may be left of the GPU that there is room for one batch only
        pass
    return Kept(batch, device, dtype, memory)


class Kept:
    """A batch that crosses when the loop asks for it."""

    def __init__(
        self, batch: Any, device: torch.device, dtype: torch.dtype | None, memory: refill.Memory | None
    ) -> None:
        self._batch, self._device, self._dtype = batch, device, dtype
        self.reading = refill.Reading(is_late=True, memory=memory)
        if memory is not None:
            self.reading.has_foreign = any(
                tree.moves_itself(leaf) for _, leaf in tree.leaves(batch) if not isinstance(leaf, torch.Tensor)
            )

    def let_go(self) -> None:
        """All of it is needed."""

    def hand_over(self) -> Any:
        """The batch, by tp.to()."""
        return to(self._batch, self._device, dtype=self._dtype)


class Crossing:
    """A batch under way."""

    def __init__(
        self,
        engine: _core.MoveEngine,
        batch: Any,
        tensors: list[torch.Tensor],
        device: torch.device,
        dtype: torch.dtype | None,
        aside: _aside.Aside,
    ) -> None:
        self.reading = refill.Reading()
        self._device, self._dtype, self._aside = device, dtype, aside
        self._stream = _engine.current_stream(device.index)
        self._is_inference = torch.is_inference_mode_enabled()
        upload = Upload(engine, tensors, plan.packing_of(tensors), device, dtype, takes_all=True)
        self._staged, read_by_link = upload.sources()
        self._allocated = upload.destinations()
        if len(upload.pieces):
            owner = read_by_link, self._allocated, self.reading.owner() if upload.pieces.has_pinned else None
            if moves.guarded:
                moves.ask("h2d", upload.pieces.size_bytes)
            with label.shown() as text:
                self.reading.transfer = engine.upload_ahead(device.index, upload.pieces, self._stream, owner, text)
        # The batch itself is let go, and with it what has been staged.
        self._foreign: dict[int, _aside.Early | None] = {}
        self._moved = [tensor for tensor in upload.moved if tensor is not None]
        self._left = [(tensors[index], self._start_left(tensors[index])) for index in upload.left]
        by_id = {id(old): old if new is None else new for old, new in zip(tensors, upload.moved, strict=True)}
        self._nest = tree.replaced(batch, by_id, self._start_foreign)

    def __del__(self) -> None:
        self.reading.transfer = None  # before the sources: until it is gone they may be read

    def let_go(self) -> None:
        """Drops the host memory that has been read."""
        if self._staged and self.reading.transfer is not None and self.reading.transfer.is_staged():
            self._staged = []

    def hand_over(self) -> Any:
        """The batch, for use on the stream that is current now."""
        if self.reading.transfer is not None:
            now = _engine.current_stream(self._device.index)
            self.reading.transfer.wait_on(self._device.index, now)
            self._staged = []
            if now != self._stream:
                stream = torch.cuda.current_stream(self._device)
                for tensor in self._allocated:
                    tensor.record_stream(stream)
        is_as_made = self._is_inference == torch.is_inference_mode_enabled()
        if is_as_made and not self._foreign and not self._left and self._dtype is None:
            return self._nest
        finished = list(self._moved) if is_as_made else [_made_anew(tensor) for tensor in self._moved]
        if self._dtype is not None:
            convert(finished, self._dtype, range(len(finished)))
        by_id = {id(tensor): new for tensor, new in zip(self._moved, finished, strict=True)}
        by_id |= {id(tensor): self._finished(self._arrived(tensor, early)) for tensor, early in self._left}
        return tree.replaced(self._nest, by_id, self._finished_foreign)

    def _finished(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if self._dtype is None else tensor.to(self._dtype)

    def _arrived(self, tensor: torch.Tensor, early: _aside.Early | None) -> torch.Tensor:
        return to(tensor, self._device) if early is None else self._taken(early)

    def _start_left(self, tensor: torch.Tensor) -> _aside.Early | None:
        if tensor.device.type != "cpu" or plan.is_plain(tensor):
            self.reading.is_late |= tensor.device.type == "cpu" and tensor.numel() > 0
            return None
        return self._started(functools.partial(to, tensor, self._device))

    def _start_foreign(self, foreign: Any) -> Any:
        # A tensor is one that its container makes whenever it is asked for it.
        is_tensor = isinstance(foreign, torch.Tensor)
        self._foreign[id(foreign)] = None if is_tensor else self._started(self._move_of(foreign))
        self.reading.is_late |= is_tensor
        self.reading.has_foreign = True
        return foreign

    def _started(self, move: Any) -> _aside.Early | None:
        early = self._aside.start(move)
        if early is None or not early.is_clear:
            self.reading.is_late = True
        else:
            self.reading.events.append(early.done)
        return early

    def _finished_foreign(self, foreign: Any) -> Any:
        if isinstance(foreign, torch.Tensor):
            return self._finished(to(foreign, self._device))
        early = self._foreign.get(id(foreign))
        return self._move_of(foreign)() if early is None else self._taken(early)

    def _move_of(self, foreign: Any) -> Any:
        return functools.partial(move_itself, foreign, device=self._device, dtype=self._dtype)

    def _taken(self, early: _aside.Early) -> Any:
        return early.hand_over(torch.cuda.current_stream(self._device))


def _made_anew(tensor: torch.Tensor) -> torch.Tensor:
    # The same memory. Only what was made outside of inference mode can be trained on, and the loop has left it, or the
    # other way round.
    new = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return new.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
