"""tp.copy_: between GPUs, off the streams of both."""

from __future__ import annotations

from typing import Any

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move import plan, tree
from turnpike._move.late import torch


def copy_(dst: torch.Tensor, src: torch.Tensor) -> Work:
    """Copies src into dst as dst.copy_(src) would, on streams of its own: what both GPUs do next runs beside it.

        work = tp.copy_(dst, src)
        ...                        # neither dst nor src is touched here
        work.wait()                # what comes now on either GPU finds the copy done

    The copy runs after what is in the current streams of both devices at the call. Until work.wait() dst must not be
    read and neither be written. Where the GPUs do not reach each other, or bring wrong bytes, it goes through host
    memory. Either side may also be on the host; a pageable dst is written before work.synchronize() returns.

    src is converted and broadcast as dst.copy_() would, on its own device. Tensors that require a gradient are refused
    with turnpike.Error. Without a GPU, and for tensors of special kinds, it is dst.copy_(src).
    """
    for name, tensor in (("dst", dst), ("src", src)):
        if plan.needs_grad(tensor):
            raise _core.Error(
                f"turnpike.copy_() does not carry gradients, and {name}, {tree.describe(tensor, tensor)}, requires "
                "one: give tensor.detach()."
            )
    engine = _engine.engine() if dst.is_cuda or src.is_cuda else None
    if engine is None or dst.numel() == 0 or _engine.is_transformed() or not _is_ours(dst, src):
        dst.copy_(src)
        return Work(None, dst, src)
    _engine.refuse_capture("turnpike.copy_()")
    if src.shape != dst.shape or src.dtype != dst.dtype or src.stride() != dst.stride():
        # As dst lies, so that its bytes are what has to cross.
        src = torch.empty_strided(dst.shape, dst.stride(), dtype=dst.dtype, device=src.device).copy_(src)
    torch.autograd.graph.increment_version(dst)
    return Work(_start(engine, dst, src), dst, src)


def _is_ours(dst: torch.Tensor, src: torch.Tensor) -> bool:
    return plan.is_plain(dst) and plan.is_plain(src) and plan.is_gapless(dst.shape, dst.stride())


def _start(engine: _core.MoveEngine, dst: torch.Tensor, src: torch.Tensor) -> _core.MoveTransfer:
    if dst.is_cuda and src.is_cuda:
        return engine.copy_peer(
            dst.get_device(), dst.data_ptr(), _stream(dst), src.get_device(), src.data_ptr(), _stream(src), dst.nbytes,
            (dst, src),
        )  # fmt: skip
    pieces = _core.MovePieces()
    if dst.is_cuda:
        pieces.add(src.data_ptr(), dst.data_ptr(), dst.nbytes, src.is_pinned())
        return engine.upload_ahead(dst.get_device(), pieces, _stream(dst), (dst, src))
    pieces.add(dst.data_ptr(), src.data_ptr(), dst.nbytes, dst.is_pinned())
    return engine.download_behind(src.get_device(), pieces, _stream(src), (dst, src))


def _stream(tensor: torch.Tensor) -> int:
    return _engine.current_stream(tensor.get_device())


class Work:
    """A copy under way. Dropping it is as :meth:`wait`."""

    __slots__ = ("_devices", "_transfer")

    def __init__(self, transfer: Any, dst: torch.Tensor, src: torch.Tensor) -> None:
        self._transfer = transfer
        self._devices = {tensor.get_device() for tensor in (dst, src) if tensor.is_cuda}

    def wait(self) -> None:
        """Makes the current streams of both devices wait for the copy. The host does not wait."""
        if self._transfer is not None:
            for device in self._devices:
                self._transfer.wait_on(device, _engine.current_stream(device))

    def done(self) -> bool:
        """Whether every byte has arrived. Never waits."""
        return self._transfer is None or self._transfer.is_done()

    def synchronize(self) -> None:
        """The host waits until every byte has arrived."""
        if self._transfer is not None:
            self._transfer.wait()
            self._transfer = None

    def __del__(self) -> None:
        # What reads dst after the result was thrown away must find the copy.
        if not self.done() and not _engine.is_over():
            self.wait()
