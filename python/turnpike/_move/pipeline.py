"""tp.pipeline: copy in, compute and copy out at the same time, in bounded GPU memory."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from turnpike import _core
from turnpike._guard import moves
from turnpike._move import engine as _engine
from turnpike._move import label, plan, pool, sole, tree
from turnpike._move.late import torch
from turnpike._move.to import add_strided, move_itself, to

# What the caching allocator aligns to: kernels find in a slot what they find elsewhere.
_ALIGNMENT = 512


def pipeline(
    fn: Callable[[Any], Any],
    inputs: Iterable[Any],
    device: torch.device | str | int,
    depth: int = 3,
    *,
    out: Sequence[Any] | None = None,
) -> Iterator[Any]:
    """Yields `fn(input)` for each input, on the host and in order. The next input and the last output cross meanwhile.

        for result in tp.pipeline(model, images, "cuda"):
            ...

    An exception of `fn` or of `inputs` is raised after the outputs that were complete before it. Leaving the loop
    early releases everything. Without a GPU it is a plain loop.

    Args:
        fn: Takes one input on the GPU and returns a tensor, or a nest of them. It is called in order and in this
            thread, on the stream that is current when the first output is asked for. It gets the same input memory
            again `depth` calls later, so it must clone what it keeps; it may change its input and return it. It may
            return the same memory in each call (out=, the output of a CUDA graph): unless nothing else can write to
            an output, the GPU clones it.
        inputs: Tensors, or nests of them. They must not change until their output is yielded.
        device: As for Tensor.to().
        depth: The most inputs, and the most outputs, that are on the GPU at once.
        out: Tensors on the host to write the outputs to, one for each, of the same shape and dtype; they may be the
            inputs. They are what is yielded. If you leave the loop early, up to `depth` more have been written.
            Without `out`, each output has new memory.

    Yields:
        The outputs on the host.

    Raises:
        turnpike.Error: A tensor requires a gradient (call it under torch.no_grad()), `out` does not fit the outputs,
            or a CUDA graph is being captured.
        ValueError: `depth` is less than 1.
    """
    if depth < 1:
        raise ValueError(f"depth is {depth}: at least one input must be on the GPU")
    target = _engine.device_of(device)
    engine = _engine.engine() if target.type == "cuda" else None
    if engine is None:
        return _plain_loop(fn, inputs, target, out)
    return _run(_Lanes(engine, fn, target, depth, out), iter(inputs), depth)


def _plain_loop(
    fn: Callable[[Any], Any], inputs: Iterable[Any], device: torch.device, out: Sequence[Any] | None
) -> Iterator[Any]:
    for index, item in enumerate(inputs):
        result = fn(to(item, device))
        _refuse_grad(result, "what fn returned")
        if out is None:
            yield to(result, "cpu")
            continue
        _check_out(out, index)
        for target, source in _pairs(out[index], tree.tensors_of(result), index):
            target.copy_(source)
        yield out[index]


def _run(lanes: _Lanes, inputs: Iterator[Any], depth: int) -> Iterator[Any]:
    try:
        lanes.begin()
        while True:
            # One slot is the one that fn works on: the copy into it waits for the call of fn before, which stands in
            # the stream by now, and the call of the next one does not.
            while lanes.wants_input():
                lanes.feed(inputs)
            if not lanes.ahead:
                break
            while lanes.writes_to_pending():
                yield lanes.collect()
            lanes.compute()
            if len(lanes.behind) >= depth:
                yield lanes.collect()
        while lanes.behind:
            yield lanes.collect()
        if lanes.error is not None:
            raise lanes.error
    finally:
        lanes.release()


class _Lanes:
    """The ring of slots on the GPU, what crosses ahead of the computation and what crosses behind it."""

    def __init__(
        self,
        engine: _core.MoveEngine,
        fn: Callable[[Any], Any],
        device: torch.device,
        depth: int,
        out: Sequence[Any] | None,
    ) -> None:
        self._engine, self._fn, self._device, self._depth, self._out = engine, fn, device, depth, out
        self._slots: list[torch.Tensor | None] = [None] * depth
        self._fed = self._computed = 0
        self._is_more = True
        self.error: Exception | None = None
        self.ahead: collections.deque[tuple[Any, Any]] = collections.deque()  # the input on the GPU, its transfer
        self.behind: collections.deque[tuple[Any, Any]] = collections.deque()  # the output on the host, its transfer

    def begin(self) -> None:
        _engine.refuse_capture("turnpike.pipeline()")
        self._stream = torch.cuda.current_stream(self._device)

    def wants_input(self) -> bool:
        return self._is_more and len(self.ahead) < self._depth

    def feed(self, inputs: Iterator[Any]) -> None:
        """Sends the next input off to its slot."""
        try:
            item = next(inputs)
            with torch.cuda.stream(self._stream):
                self.ahead.append(self._up(item))
        except StopIteration:
            self._is_more = False
        except Exception as error:
            self._is_more, self.error = False, error

    def compute(self) -> None:
        """Puts the call of fn on the oldest input into the stream, and the copy of what it returns behind it."""
        item, transfer = self.ahead.popleft()
        try:
            with torch.cuda.stream(self._stream):
                if transfer is not None:
                    transfer.wait_on(self._device.index, self._stream.cuda_stream)
                result, sole_ids = sole.call(self._fn, item)
                self.behind.append(self._down(result, sole_ids))
        except Exception as error:
            self._is_more, self.error = False, error
            self.ahead.clear()
        self._computed += 1

    def writes_to_pending(self) -> bool:
        """Whether the next output goes where one lies that nobody has seen yet."""
        if self._out is None or self._computed >= len(self._out):
            return False
        target = self._out[self._computed]
        return any(_overlap(target, pending) for pending, _ in self.behind)

    def collect(self) -> Any:
        """Waits for the oldest output."""
        result, transfer = self.behind.popleft()
        if transfer is not None:
            transfer.wait()
        return result

    def release(self) -> None:
        if self._out is not None and not _engine.is_over():
            # No memory of the program's is written to after it has left the loop.
            for _, transfer in self.behind:
                if transfer is not None:
                    transfer.wait()
        self.ahead.clear()
        self.behind.clear()
        self._slots.clear()

    def _up(self, item: Any) -> tuple[Any, Any]:
        _refuse_grad(item, f"input {self._fed}")
        tensors = tree.tensors_of(item)
        ours = {
            id(tensor): facts
            for tensor in tensors
            if tensor.device.type == "cpu" and (facts := plan.facts_of(tensor)).is_plain and facts.size_bytes > 0
        }
        slot = self._slot(sum(_aligned(tensor.nbytes) for tensor in tensors if id(tensor) in ours))
        moved: dict[int, torch.Tensor] = {}
        pieces = _core.MovePieces()
        offset = 0
        for tensor in tensors:
            if id(tensor) not in ours:
                moved[id(tensor)] = to(tensor, self._device)
                continue
            new = moved[id(tensor)] = _placed(slot, offset, tensor)
            offset += _aligned(tensor.nbytes)
            if ours[id(tensor)].is_gapless:
                pieces.add(tensor.data_ptr(), new.data_ptr(), tensor.nbytes, tensor.is_pinned())
            else:
                add_strided(pieces, tensor, new)
        transfer = None
        if len(pieces):
            stream, owner = self._stream.cuda_stream, (tensors, slot)
            if moves.guarded:
                moves.ask("h2d", pieces.size_bytes)
            with label.shown() as text:
                transfer = self._engine.upload_ahead(self._device.index, pieces, stream, owner, text)
        foreign = functools.partial(move_itself, device=self._device)
        return tree.replaced(item, moved, foreign), transfer

    def _slot(self, size_bytes: int) -> torch.Tensor:
        index = self._fed % self._depth
        self._fed += 1
        slot = self._slots[index]
        if slot is None or slot.numel() < size_bytes:
            self._slots[index] = slot = None  # before its successor is allocated
            with torch.inference_mode(False):  # it may be used when the mode is another
                self._slots[index] = slot = torch.empty(size_bytes, dtype=torch.uint8, device=self._device)
        return slot

    def _down(self, result: Any, sole_ids: set[int]) -> tuple[Any, Any]:
        _refuse_grad(result, "what fn returned")
        tensors = tree.tensors_of(result)
        targets = self._targets(tensors)
        ours = [tensor.device == self._device and tensor.numel() > 0 and plan.is_plain(tensor) for tensor in tensors]
        # Few bytes are copied in the stream, before what writes to them next.
        is_in_stream = plan.SMALL_BYTES >= sum(
            (tensor if target is None else target).nbytes
            for tensor, target, is_ours in zip(tensors, targets, ours, strict=True)
            if is_ours
        )
        sources, hosts, moved = [], [], {}
        pieces = _core.MovePieces()
        for tensor, target, is_ours in zip(tensors, targets, ours, strict=True):
            if not is_ours:
                moved[id(tensor)] = to(tensor, "cpu") if target is None else target.copy_(tensor)
                continue
            source = tensor
            if target is not None and (tensor.dtype != target.dtype or tensor.stride() != target.stride()):
                source = torch.empty_strided(target.shape, target.stride(), dtype=target.dtype, device=tensor.device)
                source.copy_(tensor)
            elif not plan.is_gapless(tensor.shape, tensor.stride()) or not (is_in_stream or id(tensor) in sole_ids):
                source = tensor.clone()
            if target is None:
                with torch.inference_mode(False):
                    host, is_pinned = pool.empty_like(source)
            else:
                host, is_pinned = target, target.is_pinned()
                torch.autograd.graph.increment_version(host)
            moved[id(tensor)] = host
            pieces.add(host.data_ptr(), source.data_ptr(), source.nbytes, is_pinned)
            sources.append(source)
            hosts.append(host)
        transfer = None
        if len(pieces):
            stream, owner, is_fresh = self._stream.cuda_stream, (sources, hosts), self._out is None
            if moves.guarded:
                moves.ask("d2h", pieces.size_bytes)
            with label.shown() as text:
                transfer = self._engine.download_behind(self._device.index, pieces, stream, owner, is_fresh, text)
        if self._out is not None:
            return self._out[self._computed], transfer
        return tree.replaced(result, moved, functools.partial(move_itself, device=torch.device("cpu"))), transfer

    def _targets(self, tensors: list[torch.Tensor]) -> list[torch.Tensor | None]:
        if self._out is None:
            return [None] * len(tensors)
        _check_out(self._out, self._computed)
        return [target for target, _ in _pairs(self._out[self._computed], tensors, self._computed)]


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT


def _placed(slot: torch.Tensor, offset: int, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the sizes and the order of dimensions of `tensor`, at an offset of the slot."""
    flat = slot[offset : offset + tensor.nbytes].view(tensor.dtype)
    return flat.as_strided(tensor.shape, torch.empty_like(tensor, device="meta").stride())


def _refuse_grad(nest: Any, what: str) -> None:
    for tensor in tree.tensors_of(nest):
        if plan.needs_grad(tensor):
            raise _core.Error(
                f"turnpike.pipeline() does not carry gradients, and in {what} {tree.describe(nest, tensor)} requires "
                "one: use it under torch.no_grad(), or detach() the tensor."
            )


def _overlap(a: Any, b: Any) -> bool:
    """Whether tensors of two nests share bytes."""
    ranges = [[(tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes) for tensor in tree.tensors_of(x)] for x in (a, b)]
    return any(begin < other_end and other < end for begin, end in ranges[0] for other, other_end in ranges[1])


def _check_out(out: Sequence[Any], index: int) -> None:
    if index >= len(out):
        raise _core.Error(f"turnpike.pipeline(): out has {len(out)} places, and there are more inputs")


def _pairs(target: Any, sources: list[torch.Tensor], index: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The tensors of out[index] with those that go into them."""
    targets = tree.tensors_of(target)
    if len(targets) != len(sources):
        raise _core.Error(
            f"turnpike.pipeline(): fn returned {len(sources)} tensors, and out[{index}] holds {len(targets)}"
        )
    for found, source in zip(targets, sources, strict=True):
        if found.device.type != "cpu" or not plan.is_gapless(found.shape, found.stride()):
            raise _core.Error(
                f"turnpike.pipeline(): out[{index}] must be in host memory and without gaps, and "
                f"{tree.describe(target, found)} is not"
            )
        if found.shape != source.shape:
            raise _core.Error(
                f"turnpike.pipeline(): fn returned shape {tuple(source.shape)} for {tree.describe(target, found)} of "
                f"out[{index}]"
            )
        yield found, source
