"""The line of the program that a copy of the engine is for, as profilers show it."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator

from turnpike._move.late import torch

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# The name of the call that a program reaches by a module of this folder.
_CALLS = {
    "ahead.py": "tp.prefetch", "copy.py": "tp.copy_", "fetch.py": "tp.fetch", "pipeline.py": "tp.pipeline",
    "scalars.py": "tp.Scalars", "to.py": "tp.to",
}  # fmt: skip

# What an NVTX tool (Nsight Systems, turnpike record) puts there before the program starts.
_has_tool = _is_listened = bool(os.environ.get("NVTX_INJECTION64_PATH"))
_UNSEEN = contextlib.nullcontext("")


def shown() -> contextlib.AbstractContextManager[str]:
    """For a `with` around a call of the engine: gives its label, which torch.profiler shows, too, where it runs.

    The label is empty where nobody looks.
    """
    is_profiled = torch.autograd._profiler_enabled()
    if not _is_listened and not is_profiled:
        return _UNSEEN
    label = caller_label()
    return _profiled(label) if is_profiled else contextlib.nullcontext(label)


def listen(is_listening: bool) -> None:
    """A recording has begun in this process, or has ended."""
    global _is_listened
    _is_listened = is_listening or _has_tool


@contextlib.contextmanager
def _profiled(label: str) -> Iterator[str]:
    with torch.profiler.record_function(label):
        # A label would have NVTX look for a tool, once and for all.
        yield label if _is_listened else ""


def caller_label() -> str:
    """`train.py:71 tp.prefetch`: the innermost line outside of Turnpike and PyTorch, and the call that it makes.

    The path is relative to the folder that the program runs in, where it is below that. Without such a line, as in a
    thread of autograd, it is the call alone.
    """
    call = "turnpike"
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_HERE):
            call = _CALLS.get(os.path.basename(path), call)
        elif not path.startswith(_torch_folder()):
            return f"{_relative(path)}:{frame.f_lineno} {call}"
        frame = frame.f_back  # type: ignore[assignment]
    return call


def _relative(path: str) -> str:
    try:
        return path.removeprefix(os.getcwd() + os.sep)
    except FileNotFoundError:  # the folder is gone
        return path


@functools.cache
def _torch_folder() -> str:
    # Autograd calls our functions, and is called by them.
    return os.path.dirname(torch.__file__) + os.sep
