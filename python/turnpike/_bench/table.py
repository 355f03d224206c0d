"""The table of an experiment, made of its rows."""

from __future__ import annotations

import math
from typing import Any

from turnpike._bench import figures

HEAD = ("", "median", "quartiles", "speed-up", "of bound")
# Cases are printed as they are done: their columns stand below each other without knowing of one another.
WIDTHS = (48, 13, 18, 8, 8)


def number(value: float | None) -> str:
    """Three digits that count: 0.0123, 1.23, 12.3, 1234. "?": not known."""
    if value is None or not math.isfinite(value):
        return "?"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{max(0, min(digits, 6))}f}"


def _speedup(row: dict[str, Any]) -> str:
    if row["ratio"] is None or row["role"] == "bound" or row["metric"] not in ("rate", "time", "memory"):
        return ""
    if row["way"] == row["baseline"]:
        return "1"
    times = figures.speedup(row["unit"], row["ratio"])
    return f"{number(times)}x" if math.isfinite(times) else "?"


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    low, high = row["spread"]
    is_bound = row["way"] == row["bound"]
    of_bound = "" if row["of_bound"] is None or row["role"] == "bound" else f"{row['of_bound'] * 100:.0f} %"
    return (
        f"  {row['way']}",
        f"{number(row['value'])} {row['unit']}",
        f"{number(low)} to {number(high)}" if row["samples"] > 1 else "",
        _speedup(row),
        "bound" if is_bound else of_bound,
    )


def _verdict(row: dict[str, Any]) -> str:
    what = "met" if row["met"] else "MISSED"
    percent = row["target_is"].startswith("ratio") and 0.5 < row["target"] < 2
    reached = f"{row['reached'] * 100:.1f} %" if percent else number(row["reached"])
    if row["target_is"].startswith(("value", "difference")):
        reached += f" {row['unit']}"
    return f"  {what}: {row['target_text']} ({reached})"


def head() -> str:
    """What stands above the columns."""
    return _padded(HEAD)


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """The table of some rows: for each case and metric its name, a line for each way, the verdict on each target."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["case"], row["metric"]), []).append(row)
    table = []
    for (case, metric), group in groups.items():
        table.append(case + ("" if metric in ("rate", "time", "memory") else f": {metric}"))
        table += [_padded(_line(row)) for row in group if row["target"] is None]
        table += [_verdict(row) for row in group if row["target"] is not None]
    return table


def _padded(entry: tuple[str, ...]) -> str:
    first, *others = entry
    cells = [first.ljust(WIDTHS[0])] + [cell.rjust(width) for cell, width in zip(others, WIDTHS[1:], strict=True)]
    return "  ".join(cells).rstrip()


def summary(rows: list[dict[str, Any]]) -> str:
    judged = [row for row in rows if row["met"] is not None]
    met = sum(row["met"] for row in judged)
    missed = [f"{row['experiment']}, {row['case']}: {row['target_text']}" for row in judged if not row["met"]]
    head = f"{met} of {len(judged)} targets met (they are those of an H100)."
    return "\n".join([head, *(f"  missed: {line}" for line in missed)])
