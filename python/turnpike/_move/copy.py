"""tp.copy_: between GPUs, off the streams of both."""

from __future__ import annotations

import atexit
import weakref
from typing import Any

from turnpike import _core
from turnpike._guard import moves
from turnpike._move import engine as _engine
from turnpike._move import label, plan, tree
from turnpike._move.late import torch


def copy_(dst: torch.Tensor, src: torch.Tensor) -> Work:
    """Copies `src` into `dst` as `dst.copy_(src)` does, but on its own streams: later work of both GPUs runs beside it.

        work = tp.copy_(dst, src)
        ...                        # neither dst nor src is touched here
        work.wait()                # what comes now on either GPU finds the copy done

    The copy runs after the work that is in the current streams of both devices at the call. Until `work.wait()`, do
    not read `dst` and do not write to either tensor. If the GPUs cannot reach each other, or bytes arrive wrong, the
    copy goes through host memory. Either tensor may also be on the host; `work.wait()` then returns when the CPU may
    read `dst` and write to `src`. Without a GPU, and for special tensors, the call is `dst.copy_(src)`.

    Args:
        dst: The destination, which requires no gradient.
        src: The source, which requires no gradient. It is converted and broadcast to the dtype and shape of `dst`, on
            its own device.

    Raises:
        turnpike.Error: A tensor requires a gradient, or a CUDA graph is being captured.
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
    with label.shown() as text:
        transfer = _start(engine, dst, src, text)
    return Work(transfer, dst, src)


def _is_ours(dst: torch.Tensor, src: torch.Tensor) -> bool:
    facts = plan.facts_of(dst)
    return facts.is_plain and facts.is_gapless and plan.is_plain(src)


def _start(engine: _core.MoveEngine, dst: torch.Tensor, src: torch.Tensor, text: str) -> _core.MoveTransfer:
    if dst.is_cuda and src.is_cuda:
        if moves.guarded:
            moves.ask("d2d" if dst.get_device() == src.get_device() else "p2p", dst.nbytes)
        _open_to_peer(dst.get_device(), src.get_device())
        return engine.copy_peer(
            dst.get_device(), dst.data_ptr(), _stream(dst), src.get_device(), src.data_ptr(), _stream(src), dst.nbytes,
            (dst, src), text,
        )  # fmt: skip
    if moves.guarded:
        moves.ask("h2d" if dst.is_cuda else "d2h", dst.nbytes)
    pieces = _core.MovePieces()
    if dst.is_cuda:
        pieces.add(src.data_ptr(), dst.data_ptr(), dst.nbytes, src.is_pinned())
        return engine.upload_ahead(dst.get_device(), pieces, _stream(dst), (dst, src), text)
    pieces.add(dst.data_ptr(), src.data_ptr(), dst.nbytes, dst.is_pinned())
    return engine.download_behind(src.get_device(), pieces, _stream(src), (dst, src), label=text)


def _stream(tensor: torch.Tensor) -> int:
    return _engine.current_stream(tensor.get_device())


_opened_to_peers: set[tuple[int, int]] = set()


def _open_to_peer(dst: int, src: int) -> None:
    """Lets PyTorch map its memory for the other GPU, which it does at its own first copy (expandable segments)."""
    if dst == src or (dst, src) in _opened_to_peers:
        return
    # On streams of their own: the current ones would wait for each other.
    with torch.cuda.stream(torch.cuda.Stream(dst)), torch.cuda.stream(torch.cuda.Stream(src)):
        torch.empty(1, device=f"cuda:{dst}").copy_(torch.zeros(1, device=f"cuda:{src}"))
    _opened_to_peers.add((dst, src))


class Work:
    """A copy in flight. Dropping it is the same as `wait()`."""

    __slots__ = ("__weakref__", "_devices", "_is_host_next", "_transfer")

    def __init__(self, transfer: Any, dst: torch.Tensor, src: torch.Tensor) -> None:
        self._transfer = transfer
        self._devices = {tensor.get_device() for tensor in (dst, src) if tensor.is_cuda}
        # Whether the CPU may touch memory that the GPU still uses. No stream keeps it from that.
        self._is_host_next = transfer is not None and (not dst.is_cuda or (not src.is_cuda and src.is_pinned()))
        if self._is_host_next:
            _for_the_host.add(self)

    def wait(self) -> None:
        """Makes the current streams of both devices wait for the copy. The CPU does not wait.

        In two cases the CPU waits: if `dst` or a pinned `src` is on the host, and if the current stream is being
        captured into a CUDA graph.
        """
        if self._transfer is None:
            return
        _engine.refuse_child("turnpike.copy_()")
        if self._is_host_next or _engine.is_capturing(self._devices):
            self.synchronize()
            return
        for device in self._devices:
            self._transfer.wait_on(device, _engine.current_stream(device))

    def done(self) -> bool:
        """Says whether every byte has arrived. Never waits."""
        if self._transfer is None:
            return True
        _engine.refuse_child("turnpike.copy_()")
        return self._transfer.is_done()

    def synchronize(self) -> None:
        """Makes the CPU wait until every byte has arrived."""
        if self._transfer is not None:
            _engine.refuse_child("turnpike.copy_()")
            self._transfer.wait()
            self._transfer = None

    def __del__(self) -> None:
        # What reads dst after the result was thrown away must find the copy. Not in a forked child and not at the end:
        # not even to be asked.
        if self._transfer is not None and not _engine.is_over() and not self._transfer.is_done():
            self.wait()


# Their destination may outlive the process: a mapped file, shared memory.
_for_the_host: weakref.WeakSet[Work] = weakref.WeakSet()


@atexit.register  # before that of the engine, which was registered first
def _finish() -> None:
    for work in list(_for_the_host):
        if not _engine.is_over():
            work.synchronize()
