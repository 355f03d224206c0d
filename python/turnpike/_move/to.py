"""tp.to: any nest of tensors to a device."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

from turnpike import _core
from turnpike._guard import moves
from turnpike._move import engine as _engine
from turnpike._move import label, plan, pool, tree
from turnpike._move import strict as _strict
from turnpike._move.late import torch
from turnpike._move.plan import Way

T = TypeVar("T")


def to(
    obj: T,
    device: torch.device | str | int,
    *,
    dtype: torch.dtype | None = None,
    stream: torch.cuda.Stream | None = None,
    non_blocking: bool = False,
    strict: bool = False,
) -> T:
    """Moves every tensor of a nest to a device: pageable memory at the rate of pinned memory, small tensors together.

        batch = tp.to(batch, "cuda")

    Results on a GPU are ordered like those of any operation of the current stream: work that you put there next finds
    them; other streams must wait for this one. Results on the CPU are ready when the call returns. You may change
    pageable sources as soon as the call returns.

    Gradients flow back to the device and dtype of the source. Special tensors (sparse, quantized, nested, subclasses)
    use their own `.to()`. So does everything if there is no GPU, in a forked child, and under torch.compile.

    Args:
        obj: A tensor of any shape, or a nest of dicts, lists, tuples, namedtuples, dataclasses and other mappings of
            tensors. A tensor that occurs twice is moved once and stays shared. An object with its own `.to()`
            (TensorDict, BatchEncoding) moves itself. Everything else is passed through.
        device: As for Tensor.to().
        dtype: What to convert every tensor to, on the GPU.
        stream: Copies in the order of this stream of the GPU, as inside `with torch.cuda.stream(stream)`.
        non_blocking: Whether not to wait for pinned sources, which must then stay unchanged until the copies have run.
            Towards the CPU it means what Tensor.to(non_blocking=True) means.
        strict: Whether to refuse a nest with an object that may hold tensors and would not be moved.

    Returns:
        The same nest with tensors of the same shapes on `device`.

    Raises:
        turnpike.Error: A CUDA graph is being captured and something would have to be copied, or `strict` refuses.
        ValueError: `stream` belongs to another GPU.
    """
    if torch.compiler.is_compiling():
        return _plainly(obj, device, dtype, non_blocking)
    if strict:
        _strict.refuse_left_behind("turnpike.to()", obj)
    if stream is not None:
        _check_stream(stream, device)
        with torch.cuda.stream(stream):
            return to(obj, device, dtype=dtype, non_blocking=non_blocking)
    nest: Any = obj
    if type(nest) is torch.Tensor and _is_small(nest) and not _would_wait(nest, device):
        return _by_torch(nest, device, dtype, non_blocking)
    target = _engine.device_of(device)
    if type(nest) is torch.Tensor:
        return move([nest], target, dtype, non_blocking)[0]
    tensors = tree.tensors_of(nest)
    moved = move(tensors, target, dtype, non_blocking)
    if type(nest) is list and len(nest) == len(tensors) and all(map(operator.is_, nest, tensors)):
        return moved  # type: ignore[return-value]
    by_id = {id(tensor): new for tensor, new in zip(tensors, moved, strict=True)}
    return tree.replaced(
        nest, by_id, functools.partial(move_itself, device=target, dtype=dtype, waits=not non_blocking)
    )


def move(
    tensors: list[torch.Tensor], device: torch.device, dtype: torch.dtype | None, non_blocking: bool
) -> list[torch.Tensor]:
    """Each tensor on the device; those that are there already as they are."""
    engine = _engine.engine() if device.type in ("cuda", "cpu") else None
    if engine is None or _engine.is_transformed():
        return [_by_torch(tensor, device, dtype, non_blocking) for tensor in tensors]
    if any(plan.converts_on_cpu(tensor, dtype) for tensor in tensors):
        return _move_with_exact_items(tensors, device, dtype, non_blocking)
    if device.type == "cuda":
        packing = plan.packing_of(tensors) if len(tensors) != 1 else plan.Alone()
        if _has_grad(tensors[index] for index in packing.others):  # none of the packed ones has
            return _move_with_grad(tensors, device, dtype, non_blocking)
        return _up(engine, Upload(engine, tensors, packing, device, dtype), dtype, non_blocking)
    if _has_grad(tensors):
        return _move_with_grad(tensors, device, dtype, non_blocking)
    return _down(engine, tensors, device, dtype, non_blocking)


def _move_with_exact_items(
    tensors: list[torch.Tensor], device: torch.device, dtype: torch.dtype | None, non_blocking: bool
) -> list[torch.Tensor]:
    ours = [tensor for tensor in tensors if not plan.converts_on_cpu(tensor, dtype)]
    found = iter(move(ours, device, dtype, non_blocking))
    return [
        _by_torch(tensor, device, dtype, non_blocking) if plan.converts_on_cpu(tensor, dtype) else next(found)
        for tensor in tensors
    ]


def _has_grad(tensors: Iterable[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def move_itself(obj: Any, device: torch.device, dtype: torch.dtype | None = None, waits: bool = True) -> Any:
    """Calls an object's own .to(), with what it is certain to know and what was asked for."""
    keywords: dict[str, Any] = {}
    if dtype is not None:
        keywords["dtype"] = dtype
    if not waits:
        keywords["non_blocking"] = True
    return obj.to(device, **keywords)


def _check_stream(stream: torch.cuda.Stream, device: torch.device | str | int) -> None:
    target = torch.device(device)
    if target.type != "cuda" or target.index not in (None, stream.device.index):
        raise ValueError(f"turnpike.to(): the stream is one of {stream.device}, and the tensors are to go to {target}")


def _would_wait(tensor: torch.Tensor, device: torch.device | str | int) -> bool:
    """Whether PyTorch's copy of a small tensor would hold up the host until the stream has come so far."""
    if tensor.device.type != "cpu" or not torch.cuda.is_initialized() or tensor.numel() == 0:
        return False
    target = _engine.device_of(device)
    engine = _engine.engine() if target.type == "cuda" else None
    if engine is None:
        return False
    try:
        return not engine.is_idle(target.index, _engine.current_stream(target.index))
    except _core.Error:  # a capture, or a GPU that failed: PyTorch says which
        return False


def _is_small(tensor: torch.Tensor) -> bool:
    try:
        return tensor.nbytes < plan.ALONE_BYTES
    except RuntimeError:  # a layout that has no such number
        return True


def _by_torch(tensor: Any, device: Any, dtype: torch.dtype | None, non_blocking: bool) -> Any:
    try:
        if dtype is None and not non_blocking:
            return tensor.to(device)  # a third less to parse, which small tensors notice
        return tensor.to(device, dtype=dtype, non_blocking=non_blocking)
    except RuntimeError:
        if _engine.is_open():
            _engine.refuse_capture("turnpike.to()")
        raise


def _plainly(obj: Any, device: Any, dtype: torch.dtype | None, non_blocking: bool) -> Any:
    # Everything that the compiler has to see through.
    if isinstance(obj, torch.Tensor):
        return obj.to(device, dtype=dtype, non_blocking=non_blocking)
    tensors = {id(tensor): tensor.to(device, dtype=dtype, non_blocking=non_blocking) for tensor in tree.tensors_of(obj)}
    return tree.replaced(obj, tensors, lambda other: move_itself(other, device, dtype, not non_blocking))


# Autograd.


def _move_with_grad(
    tensors: list[torch.Tensor], device: torch.device, dtype: torch.dtype | None, non_blocking: bool
) -> list[torch.Tensor]:
    # A copy to where a tensor already is, is the tensor itself; one to a dtype without gradients is PyTorch's affair.
    has_grads = dtype is None or dtype.is_floating_point or dtype.is_complex
    crossing = [
        index
        for index, tensor in enumerate(tensors)
        if tensor.requires_grad and tensor.device != device and has_grads and plan.is_plain(tensor)
    ]
    moved: list[Any] = [None] * len(tensors)
    if crossing:
        results = _moved_function().apply(device, dtype, non_blocking, *(tensors[index] for index in crossing))
        for index, result in zip(crossing, results, strict=True):
            moved[index] = result
    rest = [index for index in range(len(tensors)) if moved[index] is None]
    plain = [index for index in rest if not tensors[index].requires_grad]
    for index, result in zip(plain, move([tensors[i] for i in plain], device, dtype, non_blocking), strict=True):
        moved[index] = result
    for index in rest:
        if moved[index] is None:
            moved[index] = _by_torch(tensors[index], device, dtype, non_blocking)
    return moved


@functools.cache
def _moved_function() -> Any:
    class Moved(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, device: torch.device, dtype: torch.dtype | None, non_blocking: bool, *tensors: Any
        ) -> Any:
            ctx.sources = [(tensor.device, tensor.dtype) for tensor in tensors]
            ctx.set_materialize_grads(False)
            return tuple(move(list(tensors), device, dtype, non_blocking))

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            back: list[Any] = [None] * len(gradients)
            for place in set(ctx.sources):
                indices = [i for i, source in enumerate(ctx.sources) if source == place and gradients[i] is not None]
                found = move([gradients[index] for index in indices], place[0], place[1], False)
                for index, gradient in zip(indices, found, strict=True):
                    back[index] = gradient
            return None, None, None, *back

    return Moved


# To a GPU.


def _up(engine: _core.MoveEngine, batch: Upload, dtype: torch.dtype | None, non_blocking: bool) -> list[torch.Tensor]:
    tensors, device, moved = batch.tensors, batch.device, batch.moved
    must_wait = batch.pieces.has_pinned
    if len(batch.pieces):
        _engine.refuse_capture("turnpike.to()")
        if moves.guarded:
            moves.ask("h2d", batch.pieces.size_bytes)
        with label.shown() as text:
            engine.upload(device.index, batch.pieces, _engine.current_stream(device.index), batch.owner, text)
    for index in batch.left:
        tensor = tensors[index]
        way = batch.ways[index]
        if way is Way.PINNED:
            _engine.refuse_capture("turnpike.to()")
            moved[index] = _up_pinned(tensor, device, dtype)
            must_wait = True
        elif way is Way.EXPANDED:
            moved[index] = _up_expanded(tensor, device, dtype)
        elif way is Way.DENSE:
            moved[index] = _up_converted(engine, tensor, device, dtype)
        else:
            moved[index] = _by_torch(tensor, device, dtype, non_blocking)
    if dtype is not None:
        left = set(batch.left)
        convert(moved, dtype, [index for index in range(len(moved)) if index not in left])
    if must_wait and not non_blocking:
        torch.cuda.current_stream(device).synchronize()
    return moved


def convert(tensors: list[torch.Tensor], dtype: torch.dtype, ours: Iterable[int]) -> None:
    """Converts the tensors of a list in place of them: small ones together, by few kernels.

    ours: the indices of those that an Upload allocated, which are plain, have no gaps and need no gradient.
    """
    small = [
        index
        for index in ours
        if (tensor := tensors[index]).dtype is not dtype
        and tensor.nbytes <= plan.PACKED_BYTES
        and not tensor.has_names()
    ]
    if len(small) > 1:
        sources = [tensors[index] for index in small]
        targets = _empty_likes(sources, dtype)
        with torch.no_grad():
            # .data has a version counter of its own: filling a new tensor must not count as a change. A guard below
            # autograd does not do: the CUDA kernels count themselves.
            torch._foreach_copy_([target.data for target in targets], sources)
        for index, target in zip(small, targets, strict=True):
            tensors[index] = target
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not dtype:
            tensors[index] = tensor.to(dtype)


def _empty_likes(tensors: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """Tensors of another dtype like each of these, which have no gaps and are all on one device."""
    made = _core.move_empty_likes(tensors, plan.plain_types(), tensors[0].get_device(), torch.empty(0, dtype=dtype))
    if made is None:
        made = [torch.empty_like(tensor, dtype=dtype, requires_grad=False) for tensor in tensors]
    return made


def _without_versions() -> contextlib.AbstractContextManager[Any]:
    """Inside, filling a new tensor is no change of it: PyTorch's own copies are made below its count of changes."""
    below = getattr(torch._C, "_AutoDispatchBelowADInplaceOrView", None)
    if below is not None:
        return below()
    key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet  # before that guard had a name
    return torch._C._ExcludeDispatchKeyGuard(keys(key.ADInplaceOrView) | keys(key.AutogradCUDA) | keys(key.AutogradCPU))


class Upload:
    """What has to be copied for a list of tensors to be on a GPU, with its destinations allocated.

    moved: for each tensor its copy, None while there is none. left: the indices of those that this does not copy, by
    their ways: page-locked tensors and large ones to be converted to `dtype`, unless `takes_all`, and what is left to
    PyTorch or appears only once of what it repeats.
    """

    def __init__(
        self,
        engine: _core.MoveEngine,
        tensors: list[torch.Tensor],
        packing: _core.MovePlan | plan.Alone,
        device: torch.device,
        dtype: torch.dtype | None,
        *,
        takes_all: bool = False,
    ) -> None:
        self.tensors = tensors
        self.device = device
        self._dtype = dtype
        self._engine = engine
        self._takes_all = takes_all
        self.moved: list[Any] = [None] * len(tensors)
        self.ways: dict[int, Way] = {}
        self.left: list[int] = []
        self.pieces = _core.MovePieces()
        if isinstance(packing, _core.MovePlan) and (len(packing.small) > 1 or takes_all):
            self._add_small(engine, packing)
        else:
            for index in packing.small:
                self._add(index)
        for index in packing.others:
            self._add(index)

    @property
    def owner(self) -> Any:
        """What the link reads after the call has returned; None where the threads have read everything by then."""
        return self.sources()[1] if self.pieces.has_pinned else None

    def destinations(self) -> list[torch.Tensor]:
        """One tensor for each device memory that was allocated."""
        return [tensor for tensor in self.moved if tensor is not None]

    def sources(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Those that only the threads read, until they have staged them, and those that the link reads."""
        direct = [self.tensors[index] for index, way in self.ways.items() if way is Way.PINNED]
        staged = [tensor for index, tensor in enumerate(self.tensors) if self.ways.get(index) is not Way.PINNED]
        return staged, direct

    def _add_small(self, engine: _core.MoveEngine, packing: _core.MovePlan) -> None:
        # Each in memory of its own, as PyTorch would have it. The allocator mostly puts them next to each other, and
        # then they share a copy.
        empty_like, device, tensors = torch.empty_like, self.device, self.tensors
        targets = packing.empty_likes(tensors, device.index if device.type == "cuda" else -1)
        if targets is None:
            targets = [empty_like(tensors[index], device=device) for index in packing.small]
        for index, target in zip(packing.small, targets, strict=True):
            self.moved[index] = target
        stream = _engine.current_stream(device.index)
        for index in engine.add_small(packing, self.pieces, targets, device.index, stream, _block_bytes()):
            self.ways[index] = Way.PINNED

    def _add(self, index: int) -> None:
        tensor = self.tensors[index]
        if tensor.device.type != "cpu":
            way = Way.TORCH
        else:
            facts = plan.with_pinned(plan.facts_of(tensor), tensor, self._engine, self.device.index)
            way = plan.way_up(facts, is_alone=self._is_for_pytorch(tensor))
        self.ways[index] = way
        if way is Way.STRIDED:
            self.moved[index] = add_strided(
                self.pieces, tensor, torch.empty_like(tensor, device=self.device, requires_grad=False)
            )
        elif self._takes_all and way in (Way.DENSE, Way.PINNED) or way is Way.DENSE and not self._converts(tensor):
            new = self.moved[index] = torch.empty_like(tensor, device=self.device, requires_grad=False)
            self.pieces.add(tensor.data_ptr(), new.data_ptr(), tensor.nbytes, way is Way.PINNED)
        else:
            self.left.append(index)

    def _is_for_pytorch(self, tensor: torch.Tensor) -> bool:
        return len(self.tensors) == 1 and not self._takes_all and not _would_wait(tensor, self.device)

    def _converts(self, tensor: torch.Tensor) -> bool:
        return self._dtype not in (None, tensor.dtype) and tensor.nbytes > plan.CONVERT_BYTES


@functools.cache
def _block_bytes() -> int:
    # What the caching allocator rounds sizes up to; of other allocators nothing is known.
    return 512 if torch.cuda.memory.get_allocator_backend() == "native" else 1


def add_strided(pieces: _core.MovePieces, tensor: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Adds the copy of a tensor with gaps to `new`, which has none, and returns that."""
    order = sorted(range(tensor.dim()), key=lambda i: (new.stride(i), new.shape[i]), reverse=True)
    item = tensor.itemsize
    pieces.add_strided(
        tensor.data_ptr(),
        new.data_ptr(),
        item,
        [tensor.shape[i] for i in order],
        [tensor.stride(i) * item for i in order],
    )
    return new


def _up_pinned(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype | None) -> torch.Tensor:
    if dtype is None or dtype is tensor.dtype or tensor.nbytes <= plan.CONVERT_BYTES:
        return tensor.to(device, non_blocking=True)
    return _converted(tensor, device, dtype, lambda part, raw: raw.copy_(part, non_blocking=True))


def _up_converted(
    engine: _core.MoveEngine, tensor: torch.Tensor, device: torch.device, dtype: torch.dtype | None
) -> torch.Tensor:
    assert dtype is not None
    stream = _engine.current_stream(device.index)

    def bring(part: torch.Tensor, raw: torch.Tensor) -> None:
        pieces = _core.MovePieces()
        pieces.add(part.data_ptr(), raw.data_ptr(), part.nbytes)
        if moves.guarded:
            moves.ask("h2d", part.nbytes)
        with label.shown() as text:
            engine.upload(device.index, pieces, stream, label=text)

    return _converted(tensor, device, dtype, bring)


def _converted(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype, bring: Any) -> torch.Tensor:
    """A tensor without gaps on the device, converted there part by part. bring(part, raw) copies a part as it is."""
    new = torch.empty_like(tensor, device=device, dtype=dtype, requires_grad=False)
    source, target = in_memory_order(tensor), in_memory_order(new)
    step = max(1, plan.CONVERT_BYTES // tensor.itemsize)
    raw = torch.empty(min(step, source.numel()), dtype=tensor.dtype, device=device)
    for start in range(0, source.numel(), step):
        part = source[start : start + step]
        bring(part, raw[: part.numel()])
        with _without_versions():
            target[start : start + step].copy_(raw[: part.numel()])
    return new


def in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without gaps as one dimension, its items as they lie in memory."""
    return tensor.detach().as_strided((tensor.numel(),), (1,))


def _up_expanded(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype | None) -> torch.Tensor:
    once = [0 if stride == 0 else slice(None) for stride in tensor.stride()]
    kept = tensor[tuple(slice(0, 1) if part == 0 else part for part in once)]
    new = torch.empty_like(tensor, device=device, dtype=dtype, requires_grad=False)
    once_there = to(kept, device).expand(tensor.shape)
    with _without_versions():
        return new.copy_(once_there)


# To the CPU.


def _down(
    engine: _core.MoveEngine,
    tensors: list[torch.Tensor],
    device: torch.device,
    dtype: torch.dtype | None,
    non_blocking: bool,
) -> list[torch.Tensor]:
    moved: list[Any] = [None] * len(tensors)
    pieces: dict[int, _core.MovePieces] = {}
    alive: list[torch.Tensor] = []
    for index, tensor in enumerate(tensors):
        way = Way.TORCH
        if tensor.is_cuda and not non_blocking:
            way = plan.way_down(plan.facts_of(tensor), is_alone=len(tensors) == 1)
        if way is Way.TORCH:
            moved[index] = _by_torch(tensor, device, dtype, non_blocking)
            continue
        _engine.refuse_capture("turnpike.to()")
        gapless = tensor if way is Way.DENSE else tensor.clone()
        if dtype is not None and dtype is not tensor.dtype:
            moved[index] = _down_converted(engine, gapless, dtype)
            continue
        alive.append(gapless)
        moved[index], is_pinned = pool.empty_like(gapless)
        pieces.setdefault(tensor.get_device(), _core.MovePieces()).add(
            moved[index].data_ptr(), gapless.data_ptr(), gapless.nbytes, is_pinned
        )
    for gpu, list_of_pieces in pieces.items():
        stream = _engine.current_stream(gpu)
        if moves.guarded:
            moves.ask("d2h", list_of_pieces.size_bytes)
        with label.shown() as text:
            engine.download(gpu, list_of_pieces, stream, is_fresh=True, label=text)
    return moved


def _down_converted(engine: _core.MoveEngine, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    new = torch.empty_like(tensor, device="cpu", dtype=dtype, requires_grad=False)
    source, target = in_memory_order(tensor), in_memory_order(new)
    step = max(1, plan.CONVERT_BYTES // new.itemsize)
    gpu = tensor.get_device()
    stream = _engine.current_stream(gpu)
    for start in range(0, source.numel(), step):
        part = source[start : start + step].to(dtype)
        pieces = _core.MovePieces()
        pieces.add(target[start:].data_ptr(), part.data_ptr(), part.nbytes)
        if moves.guarded:
            moves.ask("d2h", part.nbytes)
        with label.shown() as text:
            engine.download(gpu, pieces, stream, is_fresh=True, label=text)
    return new
