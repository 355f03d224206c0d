"""Lets the pairs run without a GPU, to try them out: what they use of torch.cuda becomes something harmless."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import workloads


class _Order:
    """A stream or an event. Work on the CPU is over when its call returns, so there is nothing to order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> _Order:
        return self

    def query(self) -> bool:
        return True


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


@contextlib.contextmanager
def _scope(*args: Any, **kwargs: Any) -> Iterator[None]:
    yield


def _capture(step: Callable[[], None]) -> Callable[[], None]:
    for _ in range(3):
        step()
    return step


def install() -> None:
    """For this process, once. Nothing of what a pair computes changes."""
    torch.cuda.Stream = torch.cuda.Event = _Order
    torch.cuda.current_stream = torch.cuda.default_stream = _Order
    torch.cuda.stream = torch.cuda.device = torch.cuda.nvtx.range = _scope
    torch.cuda.synchronize = torch.cuda.empty_cache = _nothing
    torch.Tensor.pin_memory = torch.Tensor.clone
    torch.Tensor.record_stream = _nothing
    workloads.capture = _capture
