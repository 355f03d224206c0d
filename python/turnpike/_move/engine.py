"""The engine of this process: opened when it is first needed, closed at the end, and left alone in a forked child."""

from __future__ import annotations

import atexit
import os
import threading
import warnings

from turnpike import _core
from turnpike._move.late import torch

# As src/move/move.h has them: threads, bytes of a chunk, bytes of page-locked memory, gatherers, store.
Settings = tuple[int, int, int, int, str]

_lock = threading.Lock()
_engine: _core.MoveEngine | None = None
_settings: Settings | None = None
_is_over = False  # in a forked child and at the end of the interpreter


def engine() -> _core.MoveEngine | None:
    """The engine; None where the calls are to do what plain PyTorch does: without CUDA, and in a forked child."""
    if _engine is not None or _is_over:
        return _engine
    return _open()


def is_open() -> bool:
    """Whether a call has needed the engine yet."""
    return _engine is not None


def is_over() -> bool:
    """Whether this is a forked child, or the interpreter ends: what the engine had under way is out of reach."""
    return _is_over


def settings() -> Settings:
    """Those that the engine has, or will have: set, measured on this machine before, or the defaults."""
    if _engine is not None:
        return _engine.settings()
    if _settings is not None:
        return _settings
    return _kept() or _core.move_default_settings()


def _kept() -> Settings | None:
    if torch.version.cuda is None or not torch.cuda.is_available():
        return None
    try:
        return _core.move_kept_settings(torch.cuda.get_device_name())
    except _core.Error as error:  # what calibrate() kept is broken: slower, and no reason to stop
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return None


def configure(new: Settings) -> None:
    """Gives the engine other settings now, or when it is opened."""
    global _settings
    with _lock:
        if _engine is not None:
            _engine.configure(new)
        _settings = new


def _open() -> _core.MoveEngine | None:
    global _engine
    # A build for AMD's GPUs calls its devices cuda, too.
    if torch.version.cuda is None or not torch.cuda.is_available():
        return None
    torch.cuda.init()  # the context must be PyTorch's
    with _lock:
        if _engine is None and not _is_over:
            _engine = _core.MoveEngine.open(settings())
    return _engine


def _close() -> None:
    global _engine, _is_over
    _is_over = True
    _engine = None


def _forget() -> None:
    # In a forked child: the extension leaves what the parent opened as it is.
    global _lock
    _lock = threading.Lock()
    _close()


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
    if found.type == "cuda" and found.index is None and torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return found
