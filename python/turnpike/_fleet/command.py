"""`turnpike fleet RUNS...`."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from turnpike._fleet import findings, rollups, text
from turnpike._fleet.figures import Figures, MissingDuckDB

_EPILOG = """exit code: 0, 2 wrong usage, 3 a run cannot be read (the others are compared), 4 DuckDB is missing or
something else failed"""


def main(arguments: list[str]) -> int:
    """Runs `turnpike fleet`. Returns its exit code: those of docs/architecture.md."""
    parser = argparse.ArgumentParser(
        prog="turnpike fleet", description="Compare the ranks of a large job: which one differs, at which line.",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument("runs", nargs="+", metavar="RUN", help="runs, roll-ups (*.parquet), or folders that hold them")
    parser.add_argument("--json", action="store_true", help="for other programs, instead of text")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, metavar="N",
                        help="how many runs to roll up at the same time (default: one for each core)")  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="turnpike-fleet-") as folder:
            return _compare(given, pathlib.Path(folder))
    except MissingDuckDB:
        return _fail("this needs DuckDB: pip install 'turnpike[fleet]'", 4)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(str(error), 4)


def _compare(given: Any, folder: pathlib.Path) -> int:
    inputs = rollups.find(given.runs)
    unreadable = list(inputs.unreadable)
    files = list(inputs.rollups)
    for mapped in rollups.roll_up_all(inputs.traces, folder, given.workers, _progress(len(inputs.traces))):
        files += mapped.rollups
        if mapped.error is not None:
            unreadable.append(mapped.error)
    if not files:
        return _fail("; ".join(unreadable), 3)
    try:
        figures = Figures(files)
    except MissingDuckDB:
        raise
    except Exception as error:  # DuckDB's own, whose module may not be there to name them
        return _fail(f"the roll-ups cannot be read: {str(error).splitlines()[0]}", 3)
    unreadable += figures.unreadable
    found = findings.all_findings(figures)
    result = _result(figures, found, unreadable)
    shown = json.dumps(result, indent=2) + "\n" if given.json else text.as_text(result, found)
    sys.stdout.write(shown)
    sys.stdout.flush()
    for one in unreadable:
        print(f"turnpike fleet: {text.printable(one)}", file=sys.stderr)
    return 3 if unreadable else 0


def _progress(count: int) -> Callable[[int], None]:
    """Says on a terminal how many of so many recordings are rolled up; the line goes with the last one."""

    def show(done: int) -> None:
        line = f"turnpike fleet: {done} of {count} recordings rolled up" if done < count else ""
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else lambda _: None


def _result(figures: Figures, found: list[findings.Finding], unreadable: list[str]) -> dict[str, Any]:
    steps = [(rank.step_ns or 0) / rank.steps for rank in figures.ranks.values()]
    return {
        "schema": 1,
        "fleet": {
            "processes": len(figures.all_ranks),
            "ranks": len(figures.ranks),
            "hosts": len({rank.host for rank in figures.ranks.values()}),
            "median_step_ns": round(statistics.median(steps)) if steps else None,
        },
        "missing_ranks": findings.missing_ranks(figures),
        "unreadable": unreadable,
        "losses": [
            {"loss": name, "count": count, "processes": processes}
            for name, count, processes in findings.losses(figures)
        ],
        "findings": [text.finding_json(one) for one in found],
    }


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number above 0")
    return int(word)


def _fail(message: str, code: int) -> int:
    print(f"turnpike fleet: {text.printable(message)}", file=sys.stderr)
    return code
