"""The engine of this process: opened when it is first needed, closed at the end, and left alone in a forked child."""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from collections.abc import Iterable

from turnpike import _core
from turnpike._move.late import torch

# As src/move/move.h has them: threads, bytes of a chunk, bytes of page-locked memory, gatherers, store.
Settings = tuple[int, int, int, int, str]

_lock = threading.Lock()
_engine: _core.MoveEngine | None = None
_wanted: tuple[int | None, int | None, int | None] = (None, None, None)  # what the program set
_is_over = False  # the interpreter ends, or this is the child of a process that had an engine
_is_child = False  # the latter

# So long may daemon threads go on with the calls that they are in when the interpreter ends, and so long does one that
# begins another then wait for the end.
_LAST_CALLS_S = 0.1
_END_S = 0.5


def engine() -> _core.MoveEngine | None:
    """The engine; None where the calls do what plain PyTorch does: without CUDA, and in the child of its user."""
    if _engine is not None:
        return _engine
    if _is_over:
        _await_end()
        return None
    return _open()


def is_open() -> bool:
    """Whether a call has needed the engine yet."""
    return _engine is not None


def is_over() -> bool:
    """Whether what the engine had under way is out of reach: in a forked child, and when the interpreter ends."""
    return _is_over


def refuse_child(call: str) -> None:
    """Raises turnpike.Error in a forked child, for what its parent began."""
    if _is_child:
        raise _core.Error(
            f"this {call} began before the process was forked: only the parent can wait for it. Fork before, or take "
            "its result before."
        )


def settings() -> Settings:
    """Those that the engine has; before it is open, those that are known: set, measured here before, or defaults."""
    if _engine is not None:
        return _engine.settings()
    return _completed(_kept() or _core.move_default_settings())


def _completed(rest: Settings) -> Settings:
    threads, chunk_bytes, pinned_bytes = (
        old if new is None else new for new, old in zip(_wanted, rest[:3], strict=True)
    )
    return threads, chunk_bytes, pinned_bytes, *rest[3:]


def _kept() -> Settings | None:
    # To ask for the GPU's name would start CUDA, and a program that forks later may have reasons not to.
    if torch.version.cuda is None or not torch.cuda.is_initialized():
        return None
    try:
        return _core.move_kept_settings(torch.cuda.get_device_name())
    except _core.Error as error:  # what calibrate() kept is broken: slower, and no reason to stop
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return None


def configure(threads: int | None, chunk_bytes: int | None, pinned_bytes: int | None) -> None:
    """Gives the engine other settings now, or when it is opened. None: as before."""
    global _wanted
    with _lock:
        before = _wanted
        new = (threads, chunk_bytes, pinned_bytes)
        _wanted = tuple(old if value is None else value for value, old in zip(new, before, strict=True))  # type: ignore[assignment]
        if _engine is not None:
            try:
                _engine.configure(_completed(_engine.settings()))
            except BaseException:
                _wanted = before
                raise


def _open() -> _core.MoveEngine | None:
    global _engine
    # A build for AMD's GPUs calls its devices cuda, too. In a child whose parent used CUDA PyTorch says what is wrong.
    if torch.version.cuda is None or torch.cuda._is_in_bad_fork() or not torch.cuda.is_available():
        return None
    torch.cuda.init()  # the context must be PyTorch's
    with _lock:
        if _engine is None and not _is_over:
            _engine = _core.MoveEngine.open(settings())
    return _engine


def _close() -> None:
    global _engine, _is_over
    was_open, _engine, _is_over = _engine is not None, None, True
    if was_open and threading.active_count() > 1:
        time.sleep(_LAST_CALLS_S)


def _await_end() -> None:
    # PyTorch's own operations abort the process when the interpreter ends in the middle of one (up to Python 3.13), so
    # a daemon thread begins none any more. Not for ever: somebody may wait for this thread.
    if not _is_child and threading.get_ident() != threading.main_thread().ident:
        time.sleep(_END_S)


def _forget() -> None:
    # In a forked child. The extension leaves what the parent opened as it is. Without an engine nothing is lost.
    global _engine, _is_over, _is_child, _lock
    _lock = threading.Lock()
    if _engine is not None:
        _engine, _is_over, _is_child = None, True, True


os.register_at_fork(after_in_child=_forget)
atexit.register(_close)


def current_stream(device: int) -> int:
    """The number of the stream that is current on a GPU: torch.cuda.current_stream() takes longer for its object."""
    return torch._C._cuda_getCurrentRawStream(device)


def refuse_capture(call: str) -> None:
    """Raises turnpike.Error while a CUDA graph is being captured."""
    if torch.cuda.is_current_stream_capturing():
        raise _core.Error(
            f"{call} cannot run while a CUDA graph is being captured: it would have to wait and to allocate. Call it "
            "before the capture, into tensors that stay where they are, and let the graph read those; before each "
            "replay bring new data with tensor.copy_()."
        )


def is_capturing(devices: Iterable[int]) -> bool:
    """Whether the current stream of one of the GPUs is being captured into a CUDA graph."""
    return _engine is not None and any(_engine.is_capturing(device, current_stream(device)) for device in devices)


def is_transformed() -> bool:
    """Whether tensors may not be what they seem: in a torch.func transform, forward-mode AD or a dispatch mode."""
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch.autograd.forward_ad._current_level >= 0
    )


def device_of(device: torch.device | str | int) -> torch.device:
    """The device, with its index where it is a GPU."""
    found = torch.device(device)
    if found.type != "cuda" or found.index is not None:
        return found
    if _engine is not None:  # then CUDA is there, and need not be looked for in twenty microseconds
        return torch.device("cuda", torch._C._cuda_getDevice())
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else found
