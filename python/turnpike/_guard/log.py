"""What is logged: each line once for each kind when its block ends, and how often it happened when Python ends."""

from __future__ import annotations

import atexit
import json
import logging
from typing import Any

from turnpike._guard.library import call, is_loaded

LOGGER = logging.getLogger("turnpike.guard")

_Key = tuple[str | None, int, str | None, str]
# How often it had happened by then. Without a lock, which a forked child might find locked.
_said: dict[_Key, list[int]] = {}


def _key(row: dict[str, Any]) -> _Key:
    event = row["first"]
    return (event["file"], event["line"], event["function"], event["kind"])


def add(row: dict[str, Any]) -> None:
    """Takes a row that a block was the first to have: logs it, if it is not another way to a line that was logged."""
    key = _key(row)
    counted = [row["count"]]
    if _said.setdefault(key, counted) is counted:
        _log(logging.WARNING, row["first"], row["count"], row["bytes"])


def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(call("logged"))
    return rows


def counts() -> int:
    """How often all that was logged has happened."""
    return sum(row["count"] for row in _rows())


def _log(level: int, event: dict[str, Any], count: int, size: int) -> None:
    text = event["text"].removeprefix("turnpike.guard: ").rpartition("; to permit it")[0]
    times = "" if count == 1 else f" ({count} times, {size} bytes in all)" if size else f" ({count} times)"
    fields = {f"transfer_{name}": value for name, value in event.items() if name != "text"}
    LOGGER.log(level, "%s%s", text, times, extra={**fields, "transfer_count": count, "transfer_total_bytes": size})


@atexit.register
def _summarise() -> None:
    if not is_loaded():
        return
    lines: dict[_Key, dict[str, Any]] = {}
    for row in _rows():
        line = lines.setdefault(_key(row), {**row, "count": 0, "bytes": 0})
        line["count"] += row["count"]
        line["bytes"] += row["bytes"]
    for key, line in lines.items():
        # What its only block said already is not said again. One that nobody left said nothing.
        if line["count"] > _said.get(key, [0])[0]:
            _log(logging.WARNING, line["first"], line["count"], line["bytes"])
    for site in call("unmatched").splitlines():
        LOGGER.warning("nothing was allowed by %r: correct the site, remove it, or say that it is optional", site)
