"""Decides how a tensor crosses: pure functions of what is known of it, which need no GPU."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from turnpike import _core
from turnpike._move.late import torch

# Below, a tensor that crosses alone is left to PyTorch.
SMALL_BYTES = 64 << 10
# A tensor of less is left to PyTorch when it crosses alone: to wake threads for it takes as long as its copy.
ALONE_BYTES = 2 << 20
# Of tensors up to this size those that cross together share copies (kSmallTensorBytes of move_scan.h).
PACKED_BYTES = 256 << 10
# Conversions go by so much at a time, so that they need so much memory more and not another copy of a large tensor.
CONVERT_BYTES = 64 << 20


class Way(enum.Enum):
    """How a tensor crosses."""

    TORCH = "torch"  # by its own .to()
    PINNED = "pinned"  # page-locked: directly
    DENSE = "dense"  # as the bytes that it is
    STRIDED = "strided"  # gathered by the threads that stage it
    EXPANDED = "expanded"  # what repeats crosses once


class Facts(NamedTuple):
    """What the way of a tensor depends on."""

    is_plain: bool  # of PyTorch's own types, strided, not quantized, no lazy negation or conjugation
    size_bytes: int  # its items, each as often as it appears
    is_gapless: bool  # its items fill one stretch of memory, in whatever order of dimensions
    is_expanded: bool  # a dimension of more than one has stride 0
    is_pinned: bool = False


def way_up(facts: Facts, is_alone: bool) -> Way:
    """How a tensor goes from host memory to a GPU. is_alone: no other crosses with it, and what follows waits for it.

    A small one that is not alone goes as large ones do: PyTorch's copy would wait for all that the stream holds.
    """
    is_small = facts.size_bytes < SMALL_BYTES
    if not facts.is_plain or facts.size_bytes == 0 or (is_small and is_alone):
        return Way.TORCH
    if facts.is_expanded:
        return Way.STRIDED if is_small else Way.EXPANDED
    if not facts.is_gapless:
        return Way.STRIDED
    return Way.PINNED if facts.is_pinned else Way.DENSE


def way_down(facts: Facts, is_alone: bool) -> Way:
    """How a tensor goes from a GPU to pageable host memory. is_alone: no other crosses with it."""
    if not facts.is_plain or facts.size_bytes == 0 or (is_alone and facts.size_bytes < SMALL_BYTES):
        return Way.TORCH
    return Way.DENSE if facts.is_gapless else Way.STRIDED


def facts_of(tensor: torch.Tensor) -> Facts:
    """Asks a tensor. Never asks whether it is pinned, which needs a GPU: see :func:`with_pinned`."""
    size_bytes = _core.move_dense_bytes(tensor, plain_types())
    if size_bytes is not None:
        return Facts(is_plain=True, size_bytes=size_bytes, is_gapless=True, is_expanded=False)
    if not _is_plain(tensor):
        return Facts(is_plain=False, size_bytes=0, is_gapless=False, is_expanded=False)
    if tensor.is_contiguous():
        return Facts(is_plain=True, size_bytes=tensor.nbytes, is_gapless=True, is_expanded=False)
    sizes, strides = tensor.shape, tensor.stride()
    return Facts(
        is_plain=True,
        size_bytes=tensor.nbytes,
        is_gapless=is_gapless(sizes, strides),
        is_expanded=any(stride == 0 and size > 1 for size, stride in zip(sizes, strides, strict=True)),
    )


def with_pinned(facts: Facts, tensor: torch.Tensor, engine: _core.MoveEngine, device: int) -> Facts:
    """The same, and whether the tensor is in page-locked memory. device: one whose use starts nothing new."""
    if not facts.is_plain or not facts.is_gapless or not facts.size_bytes:
        return facts
    return facts._replace(is_pinned=engine.is_page_locked(device, tensor.data_ptr()))


def plain_types() -> tuple[type, ...]:
    """The types whose bytes are all that there is to them. Of others PyTorch or their makers know more."""
    return torch.Tensor, torch.nn.Parameter


class Alone(NamedTuple):
    """The packing of a tensor that crosses alone."""

    small: Sequence[int] = ()
    others: Sequence[int] = (0,)


def packing_of(tensors: list[torch.Tensor]) -> _core.MovePlan:
    """Which of the tensors are packed; none that autograd would have to know of."""
    return _core.MovePlan(tensors, plain_types(), torch.is_grad_enabled())


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether copying its bytes copies the tensor."""
    return _core.move_dense_bytes(tensor, plain_types()) is not None or _is_plain(tensor)


def _is_plain(tensor: torch.Tensor) -> bool:
    # For every tensor; it takes twenty times as long as the question about dense ones.
    return (
        type(tensor) in plain_types()
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_quantized
        and tensor.device.type in ("cpu", "cuda")
        and not tensor.is_neg()
        and not tensor.is_conj()
        and _has_memory(tensor)
    )


def _has_memory(tensor: torch.Tensor) -> bool:
    # FSDP and offloaders free storages; a zero tensor never had one. PyTorch knows what to make of these.
    if tensor.numel() == 0:
        return True
    if tensor._is_zerotensor():
        return False
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.untyped_storage().nbytes() >= (tensor.storage_offset() + last + 1) * tensor.itemsize


def converts_on_cpu(tensor: torch.Tensor, dtype: torch.dtype | None) -> bool:
    """Whether PyTorch's blocking copy gives other items than a conversion on the GPU might.

    A floating number that an integer type cannot hold becomes one thing on the CPU and another on the GPU.
    """
    return (
        dtype is not None
        and (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        and not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)
    )


def is_gapless(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether items of these sizes and strides fill one stretch of memory, each once."""
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def needs_grad(tensor: torch.Tensor) -> bool:
    """Whether autograd would record a copy of it."""
    return torch.is_grad_enabled() and tensor.requires_grad
