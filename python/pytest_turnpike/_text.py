"""What people read: why a test failed, and the summary of a session."""

from __future__ import annotations

import linecache
import pathlib
import sys
from typing import Any

Results = dict[str, dict[str, Any]]
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
# GitHub shows few annotations of a step; the rest is in its summary.
_ANNOTATIONS = 10


def failure(breaches: list[dict[str, Any]], verbosity: int, run: pathlib.Path) -> str:
    """Why a test failed: each limit and its lines of code. With -vv the whole report, with -q one line per limit."""
    from turnpike._printable import printable  # this module is loaded in sessions that do not use Turnpike, too

    lines = []
    for breach in breaches:
        lines.append(_breach(breach))
        if verbosity >= 0:
            for site in breach["sites"]:
                lines += _site(site, breach["unit"])
    lines = [printable(line) for line in lines]  # names come from recordings
    if verbosity >= 2:
        import turnpike

        lines += ["", turnpike.report(run).text(show="all")]
    return "\n".join(lines)


def _breach(breach: dict[str, Any]) -> str:
    name = breach["limit"].removeprefix("per_run.")
    if breach["outcome"] == "exceeded" and breach["measured"] is not None:
        measured, allowed = (amount(breach[key], breach["unit"]) for key in ("measured", "allowed"))
        if measured == allowed:  # as far as rounding shows
            measured, allowed = (f"{round(breach[key])}" for key in ("measured", "allowed"))
        return f"{name}: {measured}, and {allowed} allowed"
    return f"{name}: not known. {breach['why'] or ''}".rstrip()


def _site(site: dict[str, Any], unit: str) -> list[str]:
    share = amount(site["share"], unit)
    times = f"{round(site['count'])} x " if unit != "count" else ""
    size = "" if unit == "bytes" else f", {amount(site['bytes'], 'bytes')}"
    memory = f"{site['src_kind'] or '?'} -> {site['dst_kind'] or '?'}{size}"
    what = "waits for the GPU" if site["kind"] == "sync" else memory
    lines = [f"    {share} at {site['site']}: {times}{site['op'] or site['kind']} ({what})"]
    source = linecache.getline(site["file"], site["line"]).strip() if _is_loaded(site["file"]) and site["line"] else ""
    if source:
        lines.append(f"        {source}")
    return lines


def _is_loaded(file: str | None) -> bool:
    """Whether it is the file of a module in this process. Only of such files is a line shown: a recording names any."""
    return file is not None and any(getattr(module, "__file__", None) == file for module in [*sys.modules.values()])


def amount(value: float, unit: str) -> str:
    """A figure as a person writes it."""
    if unit == "ns":
        return f"{value / 1e6:.3g} ms"
    if unit == "bytes":
        for name, size in _UNITS:
            if value >= 0.9995 * size:
                return f"{value / size:.3g} {name}"
        return f"{round(value)} B"
    return f"{round(value)}" if value == round(value) else f"{value:.2f}"


def summary(results: Results, count: int) -> list[str]:
    """The lines below the tests: the dearest `count`, and how many were really checked."""
    lines = []
    checked = [item for item in results.items() if item[1]["checked"]]
    dearest = sorted(checked, key=lambda item: _cost(item[1]["figures"]), reverse=True)
    if count and dearest:
        lines.append(f"{'h2d':>6} {'size':>8} {'d2h':>6} {'size':>8} {'syncs':>6} {'blocked':>9}  test")
        for nodeid, result in dearest[:count]:
            figures = result["figures"]
            up, down = (amount(figures.get(f"{name}_bytes", 0), "bytes") for name in ("h2d", "d2h"))
            blocked = amount(figures["blocked_ns"], "ns") if "blocked_ns" in figures else "?"
            lines.append(
                f"{figures.get('h2d_count', 0):>6} {up:>8} {figures.get('d2h_count', 0):>6} {down:>8} "
                f"{figures.get('syncs', 0):>6} {blocked:>9}  {nodeid}"
            )
    limited = [result for result in results.values() if result["is_limited"]]
    checked_count = sum(result["checked"] for result in limited)
    if limited:
        tests = "test" if checked_count == 1 else "tests"
        lines.append(f"limits of {checked_count} {tests} checked, of {len(limited) - checked_count} not checked")
    reasons = sorted({result["reason"] for result in results.values() if not result["checked"]})
    return lines + [f"not checked: {reason}" for reason in reasons]


def _cost(figures: dict[str, int]) -> tuple[int, int]:
    return figures.get("blocked_ns", 0), sum(value for name, value in figures.items() if name.endswith("_bytes"))


def github(results: Results) -> list[str]:
    """GitHub's commands, those of the tests that exceed most limits first."""
    worst = sorted(
        (result for result in results.values() if result["checked"]), key=lambda result: -len(result["breaches"])
    )
    return [line for result in worst for line in result["annotations"]][:_ANNOTATIONS]


def markdown(results: Results) -> str:
    """The summary as GitHub shows it: a table of the tests, those that exceed a limit first."""
    head = "| test | h2d | d2h | syncs | exceeded |\n|---|---|---|---|---|\n"
    rows = []
    for nodeid, result in sorted(results.items(), key=lambda item: -len(item[1].get("breaches", []))):
        name = nodeid.replace("|", "\\|").replace("\n", " ")
        if not result["checked"]:
            rows.append(f"| `{name}` | ? | ? | ? | not checked |\n")
            continue
        figures = result["figures"]
        cells = [
            f"{figures.get(f'{way}_count', 0)} ({amount(figures.get(f'{way}_bytes', 0), 'bytes')})"
            for way in ("h2d", "d2h")
        ]
        exceeded = ", ".join(_breach(breach).replace("|", "\\|") for breach in result["breaches"])
        rows.append(f"| `{name}` | {cells[0]} | {cells[1]} | {figures.get('syncs', 0)} | {exceeded} |\n")
    return "### Transfers between CPU and GPU\n\n" + head + "".join(rows) + "\n"
