"""Many small tensors as views of few device buffers, made with few calls."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from turnpike import _core
from turnpike._move.late import torch

_padding: dict[int, torch.Tensor] = {}


def buffers_for(plan: _core.MovePlan, device: torch.device) -> list[torch.Tensor]:
    """The buffers that the plan wants, allocated for the current stream."""
    return [torch.empty(size, dtype=torch.uint8, device=device) for size in plan.buffers]


def views_of(plan: _core.MovePlan, buffers: list[torch.Tensor], likes: list[torch.Tensor], views: list[Any]) -> None:
    """Puts into views[i] the view of the bytes of likes[i], for each tensor of the plan.

    To autograd these are tensors of their own, not views: each has its own version and may be changed in place.
    """
    with _without_view_tracking():
        for buffer, offset, size, slot, contents in plan.runs:
            typed = buffers[buffer][offset : offset + size].view(likes[contents[0]].dtype)
            if slot:
                _same_shape(typed, slot, contents, likes, views)
            else:
                _mixed(typed, contents, likes, views)


def _same_shape(
    typed: torch.Tensor, slot: int, contents: list[int], likes: list[torch.Tensor], views: list[Any]
) -> None:
    like = likes[contents[0]]
    count = len(contents)
    made: Sequence[torch.Tensor] | None = None
    if like.dim() and like.nbytes == slot:
        # Without gaps between them they are rows of one tensor, and cut apart in three quarters of the time.
        rows = typed.view(count * like.shape[0], *like.shape[1:])
        if rows.stride() == like.stride():
            made = rows.split_with_sizes([like.shape[0]] * count)
    if made is None:
        made = typed.as_strided((count, *like.shape), (slot // typed.itemsize, *like.stride())).unbind(0)
    for index, view in zip(contents, made, strict=True):
        views[index] = view


def _mixed(typed: torch.Tensor, contents: list[int], likes: list[torch.Tensor], views: list[Any]) -> None:
    # -n stands for n items of padding, which are cut off like a tensor of that size.
    shapes = [likes[index] if index >= 0 else _padding_of(-index) for index in contents]
    for index, view in zip(contents, torch._C._nn.unflatten_dense_tensors(typed, shapes), strict=True):
        if index >= 0:
            views[index] = view


def _padding_of(items: int) -> torch.Tensor:
    if items not in _padding:
        _padding[items] = torch.empty(items, dtype=torch.uint8, device="cpu")
    return _padding[items]


def _without_view_tracking() -> contextlib.AbstractContextManager[Any]:
    below = getattr(torch._C, "_AutoDispatchBelowADInplaceOrView", None)
    if below is not None:
        return below()
    key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet  # before that guard had a name
    return torch._C._ExcludeDispatchKeyGuard(keys(key.ADInplaceOrView) | keys(key.AutogradCUDA) | keys(key.AutogradCPU))
