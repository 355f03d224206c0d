"""tp.prefetch: the next batches cross while this one is worked on."""

from __future__ import annotations

import collections
import contextlib
import functools
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move import plan, receive, tree
from turnpike._move.late import torch
from turnpike._move.to import Upload, move_itself, to

T = TypeVar("T")


def prefetch(
    iterable: Iterable[T], device: torch.device | str | int, depth: int = 2, *, dtype: torch.dtype | None = None
) -> Prefetch[T]:
    """Wraps an iterable of batches, so that the next `depth` of them cross to the GPU while one is worked on.

        for batch in tp.prefetch(loader, "cuda"):
            ...

    iterable: a DataLoader, or anything that can be iterated over; a batch is any nest that tp.to() takes. Its length
        and its attributes are those of the result, and it can be iterated over as often.
    depth: how many batches are under way beside the one that was handed out; the GPU holds depth + 1.
    dtype: what every tensor is converted to, on the GPU.

    Batches are taken from the iterable while the next one is asked for; the first is handed out before others are
    taken, and then two for each until `depth` are ahead. Those of a DataLoader with workers are received by a thread,
    as the DataLoader does it for pin_memory; everything else runs in the thread of the loop. An exception of the
    iterable is raised in place of the batch that it belongs to. Leaving the loop early releases everything, after the
    batch that is being received. A batch may be used on the stream that is current when it is handed out. Tensors that
    require a gradient are refused with turnpike.Error. Without a GPU this is a plain loop.
    """
    if depth < 1:
        raise ValueError(f"depth is {depth}: at least one batch must be under way")
    return Prefetch(iterable, device, depth, dtype)


class Prefetch(Generic[T]):
    """What :func:`prefetch` returns: iterates over batches on the GPU, and else is the iterable that it wraps."""

    def __init__(
        self, iterable: Iterable[T], device: torch.device | str | int, depth: int, dtype: torch.dtype | None
    ) -> None:
        self._iterable = iterable
        self._device = device
        self._depth = depth
        self._dtype = dtype

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name in ("_iterable", "_device", "_depth", "_dtype"):  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._iterable, name)

    def __repr__(self) -> str:
        return f"turnpike.prefetch({self._iterable!r}, {str(self._device)!r}, depth={self._depth})"

    def __iter__(self) -> Iterator[T]:
        device = _engine.device_of(self._device)
        engine = _engine.engine() if device.type == "cuda" else None
        if engine is None:
            return (to(batch, device, dtype=self._dtype) for batch in self._iterable)
        return _batches(engine, self._iterable, device, self._depth, self._dtype)


def _batches(
    engine: _core.MoveEngine, iterable: Iterable[Any], device: torch.device, depth: int, dtype: torch.dtype | None
) -> Iterator[Any]:
    # No batch may be bound to a name here: it would live until the next one.
    source = receive.source_of(iterable, depth + 1, device)
    ahead: collections.deque[_Crossing | receive.Raised] = collections.deque()
    start = functools.partial(_start, engine, source, device, dtype, ahead)
    try:
        is_more = True
        # The loop gets its first batch as soon as it is there, and the lead grows while it works: to wait for `depth` more
        # at the beginning of each epoch would cost as many steps' time where the loader is not faster than the loop.
        most = 1
        while True:
            _let_go(ahead)
            with contextlib.suppress(receive.NotYet):
                while is_more and len(ahead) < most:
                    is_more = start()
            if not ahead:
                return
            most = min(most + 1, depth + 1)
            yield _hand_over(ahead, source)
    finally:
        ahead.clear()
        source.close()


def _start(
    engine: _core.MoveEngine,
    source: receive.Pulled | receive.Received,
    device: torch.device,
    dtype: torch.dtype | None,
    ahead: collections.deque[_Crossing | receive.Raised],
) -> bool:
    """Takes one batch and sends it off. False: it was the last. receive.NotYet: it is late, and others are ahead."""
    try:
        batch = source.take(block=not ahead)
    except StopIteration:
        return False
    except receive.NotYet:
        raise
    except Exception as error:
        ahead.append(receive.Raised(error))
        return False
    try:
        ahead.append(_Crossing(engine, batch, device, dtype))
    except Exception as error:
        ahead.append(receive.Raised(error))
        return False
    return True


def _let_go(ahead: collections.deque[_Crossing | receive.Raised]) -> None:
    for crossing in ahead:
        crossing.let_go()


def _hand_over(ahead: collections.deque[_Crossing | receive.Raised], source: receive.Pulled | receive.Received) -> Any:
    batch = ahead.popleft().hand_over()
    source.handed_over()
    return batch


class _Crossing:
    """A batch under way."""

    def __init__(self, engine: _core.MoveEngine, batch: Any, device: torch.device, dtype: torch.dtype | None) -> None:
        tensors = tree.tensors_of(batch)
        for tensor in tensors:
            if plan.needs_grad(tensor):
                raise _core.Error(
                    f"turnpike.prefetch() does not carry gradients, and {tree.describe(batch, tensor)} requires one: "
                    "yield tensor.detach(), or move it with turnpike.to()."
                )
        _engine.refuse_capture("turnpike.prefetch()")
        self._device, self._dtype = device, dtype
        self._stream = _engine.current_stream(device.index)
        upload = Upload(tensors, plan.packing_of(tensors), device, dtype, takes_all=True)
        self._staged, read_by_link = upload.sources()
        self._allocated = upload.destinations()
        self._transfer = None
        if len(upload.pieces):
            owner = read_by_link, self._allocated
            self._transfer = engine.upload_ahead(device.index, upload.pieces, self._stream, owner)
        upload.make_views()
        # The batch itself is let go, and with it what has been staged.
        self._foreign: list[Any] = []
        self._left = [tensors[index] for index in upload.left]
        by_id = {id(old): old if new is None else new for old, new in zip(tensors, upload.moved, strict=True)}
        self._nest = tree.replaced(batch, by_id, self._keep)

    def __del__(self) -> None:
        self._transfer = None  # before the sources: until it is gone they may be read

    def let_go(self) -> None:
        """Drops the host memory that has been read."""
        if self._staged and self._transfer is not None and self._transfer.is_staged():
            self._staged = []

    def hand_over(self) -> Any:
        """The batch, for use on the stream that is current now."""
        if self._transfer is not None:
            now = _engine.current_stream(self._device.index)
            self._transfer.wait_on(self._device.index, now)
            self._staged = []
            if now != self._stream:
                stream = torch.cuda.current_stream(self._device)
                for tensor in self._allocated:
                    tensor.record_stream(stream)
        if not (self._foreign or self._left or self._dtype is not None):
            return self._nest
        by_id = {id(tensor): tensor for tensor in tree.tensors_of(self._nest)}
        by_id |= {id(tensor): to(tensor, self._device) for tensor in self._left}
        if self._dtype is not None:
            by_id = {key: tensor.to(self._dtype) for key, tensor in by_id.items()}
        return tree.replaced(self._nest, by_id, functools.partial(move_itself, device=self._device, dtype=self._dtype))

    def _keep(self, foreign: Any) -> Any:
        # It moves itself, on the stream that is current when the batch is handed over.
        self._foreign.append(foreign)
        return foreign
