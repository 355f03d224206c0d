"""Whether the calling thread is the only one of Python that may call CUDA."""

from __future__ import annotations

import sys
import threading

# Threads of libraries that only wait, write or draw.
_NAMES = {"QueueFeederThread", "IOPub", "Heartbeat", "Control"}
_CLASSES = {"TMonitor", "HistorySavingThread"}


def is_alone() -> bool:
    """True only while the caller keeps the GIL. Turnpike's copy threads count as others."""
    engine = sys.modules.get("turnpike._move.engine")
    if engine is not None and engine.is_open():
        return False
    known = {threading.get_ident()}
    known.update(
        thread.ident
        for thread in threading.enumerate()
        if thread.ident is not None and (thread.name in _NAMES or type(thread).__name__ in _CLASSES)
    )
    return set(sys._current_frames()) <= known
