"""tp.fetch: a tensor to the host without a synchronisation."""

from __future__ import annotations

from typing import Any

from turnpike import _core
from turnpike._guard import moves
from turnpike._move import engine as _engine
from turnpike._move import label, plan, pool, tree
from turnpike._move.late import torch


def fetch(tensor: torch.Tensor) -> Fetched:
    """Starts to copy a tensor to the host and returns at once.

        losses.append(tp.fetch(loss.detach()))

    The result is what the tensor holds now, whatever is written to it later. Up to 64 KiB are copied in the order of
    the current stream. Of a larger tensor the GPU first makes a copy, which is then transferred beside later work of
    the stream. Nothing waits until you ask for the value. A tensor on the host, or a special one, is copied at once.

    Args:
        tensor: A tensor of any shape that requires no gradient; otherwise pass `tensor.detach()`.

    Raises:
        turnpike.Error: The tensor requires a gradient, or a CUDA graph is being captured.
        TypeError: This is no tensor.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"turnpike.fetch() takes a tensor, and this is a {type(tensor).__name__}")
    if plan.needs_grad(tensor):
        raise _core.Error(
            f"turnpike.fetch() does not carry gradients, and {tree.describe(tensor, tensor)} requires one: "
            "fetch tensor.detach()."
        )
    engine = _engine.engine() if tensor.is_cuda else None
    if engine is not None:
        _engine.refuse_capture("turnpike.fetch()")
    if engine is None or tensor.numel() == 0 or _engine.is_transformed() or not plan.is_plain(tensor):
        return Fetched(tensor.detach().clone().to("cpu"), None)
    return start(engine, tensor.detach(), _engine.current_stream(tensor.get_device()))


def start(engine: _core.MoveEngine, tensor: torch.Tensor, stream: int) -> Fetched:
    """Sends a plain tensor of a GPU off, in the order of a stream; of more than 64 KiB that must be the current one."""
    if tensor.nbytes > plan.SMALL_BYTES or not tensor.is_contiguous():
        tensor = tensor.clone()  # a snapshot, and without gaps
    host, is_pinned = pool.empty_like(tensor)
    pieces = _core.MovePieces()
    pieces.add(host.data_ptr(), tensor.data_ptr(), tensor.nbytes, is_pinned)
    if moves.guarded:
        moves.ask("d2h", tensor.nbytes)
    with label.shown() as text:
        transfer = engine.download_behind(
            tensor.get_device(), pieces, stream, (tensor, host), is_fresh=True, label=text
        )
    return Fetched(host, transfer)


class Fetched:
    """A tensor in flight to the host."""

    __slots__ = ("_host", "_transfer")

    def __init__(self, host: torch.Tensor, transfer: Any) -> None:
        self._host = host
        self._transfer = transfer

    def ready(self) -> bool:
        """Says whether the tensor has arrived. Never waits."""
        if self._transfer is None:
            return True
        _engine.refuse_child("turnpike.fetch()")
        return self._transfer.is_done()

    def result(self) -> torch.Tensor:
        """Returns the tensor on the host. Waits until it has arrived, and for nothing else."""
        if self._transfer is not None:
            _engine.refuse_child("turnpike.fetch()")
            self._transfer.wait()
            self._transfer = None
        return self._host

    def item(self) -> Any:
        """Returns the number in a tensor with one item. Waits as `result()` does."""
        return self.result().item()

    def __repr__(self) -> str:
        return repr(self._host) if self._transfer is None else "turnpike.Fetched(on its way)"
