"""What is logged: each line once for each kind when its block ends, and how often it happened when Python ends."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import Any

LOGGER = logging.getLogger("turnpike.guard")

_lock = threading.Lock()
_rows: dict[tuple[str | None, int, str | None, str], dict[str, Any]] = {}


def add(row: dict[str, Any]) -> None:
    """Takes a row of a block: logs it if it is new, else counts it."""
    event = row["first"]
    key = (event["file"], event["line"], event["function"], event["kind"])
    with _lock:
        known = _rows.get(key)
        if known is None:
            if not _rows:
                atexit.register(_summarise)
            _rows[key] = {**row, "again": 0}
        else:
            known["count"] += row["count"]
            known["bytes"] += row["bytes"]
            known["again"] += row["count"]
    if known is None:
        _log(logging.WARNING, event, row["count"], row["bytes"])


def counts() -> int:
    """How often all that was logged has happened."""
    with _lock:
        return sum(row["count"] for row in _rows.values())


def _log(level: int, event: dict[str, Any], count: int, size: int) -> None:
    text = event["text"].removeprefix("turnpike.guard: ").rpartition("; to permit it")[0]
    times = "" if count == 1 else f" ({count} times, {size} bytes in all)" if size else f" ({count} times)"
    fields = {f"transfer_{name}": value for name, value in event.items() if name != "text"}
    LOGGER.log(level, "%s%s", text, times, extra={**fields, "transfer_count": count, "transfer_total_bytes": size})


def _summarise() -> None:
    # What its only block said already is not said again.
    for row in _rows.values():
        if row["again"]:
            _log(logging.WARNING, row["first"], row["count"], row["bytes"])
