"""The line of the program that a copy of the engine is for, as profilers show it."""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# What an NVTX tool (Nsight Systems, turnpike record) puts there before the program starts.
_is_listened = bool(os.environ.get("NVTX_INJECTION64_PATH"))


def caller_label(call: str) -> str:
    """`train.py:71 tp.prefetch`: the innermost line outside of Turnpike, and the call. Empty where no tool listens.

    The path is relative to the folder that the program runs in, where it is below that.
    """
    if not _is_listened:
        return ""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return call
    path = frame.f_code.co_filename
    try:
        path = path.removeprefix(os.getcwd() + os.sep)
    except FileNotFoundError:  # the folder is gone
        pass
    return f"{path}:{frame.f_lineno} {call}"
