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

from turnpike import _core, _output_file
from turnpike._fleet import budget, findings, groups, page, ray_engine, rollups, tables, text
from turnpike._fleet.figures import Figures, MissingDuckDB
from turnpike._fleet.outliers import FEWEST
from turnpike._fleet.ray_engine import MissingRay
from turnpike._printable import printable

_EPILOG = """exit code: 0, 1 a limit of the budget is exceeded, 2 wrong usage or a bad budget, 3 a run cannot be read
(the others are compared), 4 DuckDB or Ray is missing or something else failed"""


def parser() -> argparse.ArgumentParser:
    """Of the arguments behind `turnpike fleet`."""
    # fmt: off
    parser = argparse.ArgumentParser(
        prog="turnpike fleet", description="Compare the ranks of a large job: which one differs, at which line.",
        epilog=_EPILOG,
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="runs, roll-ups (*.parquet), or folders that hold them")
    parser.add_argument("--json", action="store_true", help="for other programs, instead of text")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, metavar="N",
                        help="how many runs to roll up at the same time (default: one for each core)")
    parser.add_argument("--by", type=_keys, metavar="KEYS",
                        help=f"also the ranks taken together, by {', '.join(groups.KEYS)} or several: host,numa")
    parser.add_argument("--html", metavar="FILE", help="also a page: ranks over time as a heat map, and what differs")
    parser.add_argument("--parquet", metavar="FOLDER",
                        help="also tables: ranks, minutes, sites and findings, as files of Parquet in this folder")
    parser.add_argument("--check", nargs="?", const="turnpike.toml", metavar="BUDGET",
                        help="judge by the table [fleet] of this file (default: turnpike.toml); comes last")
    parser.add_argument("--engine", choices=("local", "ray"), default="local",
                        help="where recordings are rolled up: by processes here (default), or on a Ray cluster")
    parser.add_argument("--ray-address", metavar="ADDRESS",
                        help="of the cluster, or auto; default: RAY_ADDRESS, else one of this machine")
    # fmt: on
    return parser


def main(arguments: list[str]) -> int:
    """Runs `turnpike fleet`. Returns its exit code: those of docs/architecture.md."""
    given = parser().parse_args(arguments)
    try:
        limits = None if given.check is None else budget.read(given.check)
    except budget.BadBudget as error:
        return _fail(str(error), 2)
    try:
        with tempfile.TemporaryDirectory(prefix="turnpike-fleet-") as folder:
            return _compare(given, limits, pathlib.Path(folder))
    except MissingDuckDB:
        return _fail("this needs DuckDB: pip install 'turnpike-gpu[fleet]'", 4)
    except MissingRay as error:
        return _fail(str(error), 4)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(str(error), 4)


def _mapped(given: Any, traces: list[tuple[str, pathlib.Path]], folder: pathlib.Path) -> list[rollups.Mapped]:
    if given.engine == "ray" and traces:
        return ray_engine.roll_up_all(traces, folder, given.ray_address, _progress(len(traces)))
    return rollups.roll_up_all(traces, folder, given.workers, _progress(len(traces)))


def _compare(given: Any, limits: budget.Budget | None, folder: pathlib.Path) -> int:
    inputs = rollups.find(given.runs)
    unreadable = list(inputs.unreadable)
    files = list(inputs.rollups)
    try:
        for output in filter(None, (given.html, given.parquet)):
            _output_file.check_is_no_input(
                output, [*files, *(trace.parent if trace.suffix == ".tpt" else trace for _, trace in inputs.traces)]
            )
    except _core.Error as error:
        return _fail(str(error), 2)
    for mapped in _mapped(given, inputs.traces, folder):
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
    if given.by:
        result["groups"] = [text.group_json(given.by, group) for group in groups.by(figures, given.by)]
    judged = []
    if limits is not None:
        missing = sum(len(ranks) for ranks in result["missing_ranks"].values())
        judged = budget.judge(limits, figures, found, missing, len(unreadable))
        result["budget"] = [text.limit_json(one) for one in judged]
    if given.parquet:
        tables.write(pathlib.Path(given.parquet), figures, found)
        print(f"turnpike fleet: wrote {printable(given.parquet)}", file=sys.stderr)
    if given.html:
        with _output_file.whole(given.html) as unfinished:
            pathlib.Path(unfinished).write_text(page.as_page(result, found, figures), encoding="utf-8")
        print(f"turnpike fleet: wrote {printable(given.html)}", file=sys.stderr)
    # GitHub's runner obeys "##[" anywhere in a line; the escape says the same.
    as_json = json.dumps(result, indent=2).replace("##[", r"#\u0023[") + "\n"
    shown = as_json if given.json else text.as_text(result, found)
    sys.stdout.write(shown)
    sys.stdout.flush()
    if result["incomplete"]:
        print(f"turnpike fleet: INCOMPLETE: {result['incomplete']['reason']}", file=sys.stderr)
    for one in unreadable:
        print(f"turnpike fleet: {printable(one)}", file=sys.stderr)
    if unreadable and (limits is None or limits.max_unreadable is None):
        return 3
    return 0 if all(one.is_kept for one in judged) else 1


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
            "is_compared": not findings.is_too_few(figures),
            "fewest_ranks": FEWEST,
        },
        "incomplete": _incomplete(figures, unreadable),
        "missing_ranks": findings.missing_ranks(figures),
        "unreadable": unreadable,
        "losses": [
            {"loss": name, "count": count, "processes": processes}
            for name, count, processes in findings.losses(figures)
        ],
        "findings": [text.finding_json(one) for one in found],
    }


def _incomplete(figures: Figures, unreadable: list[str]) -> dict[str, Any] | None:
    counts = {name: count for name, count, _ in findings.losses(figures)}
    if unreadable:
        counts["unreadable_file"] = len(unreadable)
    reason = _core.incomplete_reason(counts)
    return {"reason": reason} if reason else None


def _keys(words: str) -> list[str]:
    keys = words.split(",")
    for key in keys:
        if key not in groups.KEYS:
            raise argparse.ArgumentTypeError(f"{key!r} is none of {', '.join(groups.KEYS)}")
    return keys


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number above 0")
    return int(word)


def _fail(message: str, code: int) -> int:
    print(f"turnpike fleet: {printable(message)}", file=sys.stderr)
    return code
