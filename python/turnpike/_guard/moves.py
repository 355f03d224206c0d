"""Turnpike's own copies, before they begin, where a guard has moves="disallow".

The engine calls the driver directly, past the guard, so it asks.
"""

from __future__ import annotations

import os
import threading

from turnpike._guard.library import call

# How many blocks guard them; one more where the rules of the whole process may. What is 0 mostly costs nothing.
guarded = int("moves" in os.environ.get("TURNPIKE_GUARD", ""))
_lock = threading.Lock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def add(change: int) -> None:
    """Counts a block that guards moves: 1 when it is entered, -1 when it is left."""
    global guarded
    with _lock:
        guarded += change


def ask(direction: str, size_bytes: int) -> None:
    """Raises if a guard of this thread forbids a copy that is about to begin."""
    if guarded and (text := call("move", direction, size_bytes)):
        raise RuntimeError(text)
