#!/usr/bin/env python3
"""Is the verdict of `turnpike report` the one that was judged from the raw timeline?

    python -m bench.verdicts TRACES [--out RESULTS.json]        scores the half that may be worked with
    python -m bench.verdicts TRACES --clones CLONES             first takes the files out of clones (CLONES/OWNER/NAME)
    python -m bench.verdicts TRACES --only NAME,NAME            some traces of this half; writes no file
    python -m bench.verdicts TRACES --held-out --out RESULTS.json    scores the other half: once, after all changes

TRACES is a folder with one file for each trace, TRACES/NAME/FILE. Traces whose file is not there are listed and count
for nothing. A verdict is right, also right, wrong, or worthless (it would mislead), as judged.json says. Exits 1 if a
trace could not be scored.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from typing import Any

import judged_traces
import result_file
from judged_traces import Judged
from turnpike_command import executable

OUTCOMES = ["right", "also", "wrong", "worthless"]
NO_GPU = "No GPU did anything"  # how the reason begins if there was nothing to judge


def verdict_of(report: dict[str, Any]) -> str:
    """The word of judged.json for what a report says."""
    verdict = report["verdict"]
    if verdict["bound_by"] is not None:
        return {"unrecorded": "incomplete"}.get(verdict["bound_by"], verdict["bound_by"])
    return "none" if not report["used_gpu"] or verdict["why"].startswith(NO_GPU) else "incomplete"


def row_of(trace: Judged, path: str) -> dict[str, Any]:
    # Its own folder is no run: only the file is read.
    done = subprocess.run([executable(), "report", "--json", path], capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout) if done.returncode == 0 else None
    said = verdict_of(report) if report else "refused"
    outcome = trace.outcome_of(said)
    shares = {key: value for key, value in report["verdict"].items() if key.endswith("_pct")} if report else {}
    return result_file.row(
        trace.name,
        "the verdict is the judged one",
        "1",
        float(outcome in ("right", "also")),
        family=trace.family,
        judged=trace.verdict,
        also_right=trace.also_right,
        confidence=trace.confidence,
        said=said,
        outcome=outcome,
        steps=report["steps"]["source"] if report and report["steps"] else None,
        shares={**shares, **(report["verdict"]["idle"] or {})} if report else None,
        refusal=None if report else (done.stderr.strip() or "it said nothing").splitlines()[-1],
    )


def sums_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many verdicts were what; `families`: each counts once, with the mean of its traces."""
    of_family = defaultdict(list)
    for row in rows:
        of_family[row["family"]].append(row["value"])
    means = [sum(values) / len(values) for values in of_family.values()]
    return {
        "traces": len(rows),
        **{outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "families": len(means),
        "families_right_or_also": round(sum(means), 2),
        "by_judged": {
            verdict: dict(Counter(row["said"] for row in rows if row["judged"] == verdict))
            for verdict in sorted({row["judged"] for row in rows})
        },
    }


def commit() -> str:
    """Of the checkout; with a + if files were changed after it."""
    git = ["git", "-C", result_file.ROOT]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"]).returncode != 0
    return head + ("+" if changed else "")


def chosen(arguments: argparse.Namespace) -> list[Judged]:
    """Raises ValueError if a name is not of the chosen half."""
    traces = judged_traces.load("held_out" if arguments.held_out else "work")
    if not arguments.only:
        return traces
    known = {trace.name: trace for trace in traces}
    others = [name for name in arguments.only.split(",") if name not in known]
    if others:
        raise ValueError(f"not of this half: {', '.join(others)} (the half held_out needs --held-out, and is run once)")
    return [known[name] for name in arguments.only.split(",")]


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces")
    parser.add_argument("--clones")
    parser.add_argument("--only")
    parser.add_argument("--out")
    parser.add_argument("--held-out", action="store_true", help="score the half held_out. This half is run once")
    arguments = parser.parse_args(words)
    if arguments.held_out and (arguments.only or not arguments.out or os.path.exists(arguments.out)):
        parser.error("the half held_out is run once: as a whole, with --out, and not again over a result that is there")
    if arguments.only and arguments.out:
        parser.error("a result file has the whole half: no --out with --only")
    return arguments


def main(words: list[str] | None = None) -> int:
    arguments = parse(words)
    try:
        traces = chosen(arguments)
    except ValueError as error:
        print(f"bench.verdicts: {error}", file=sys.stderr)
        return 2
    rows, missing = [], {}
    for trace in traces:
        if arguments.clones and judged_traces.why_missing(trace, arguments.traces):
            judged_traces.take_from_clone(trace, arguments.clones, arguments.traces)
        reason = judged_traces.why_missing(trace, arguments.traces)
        if reason:
            missing[trace.name] = reason
            print(f"{trace.name:40} {reason}")
            continue
        rows.append(row_of(trace, trace.path_in(arguments.traces)))
        print(f"{trace.name:40} {rows[-1]['outcome']:9} judged {trace.verdict}, said {rows[-1]['said']}")
    sums = sums_of(rows)
    print(json.dumps(sums, indent=1))
    if arguments.out:
        half = "held_out" if arguments.held_out else "work"
        result_file.write(arguments.out, "verdicts", rows, half=half, commit=commit(), missing=missing, sums=sums)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
