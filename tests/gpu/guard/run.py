#!/usr/bin/env python3
"""The crossings programs under `turnpike guard`: each must raise at the lines that its comments name, and nowhere else.

    tests/gpu/guard/run.py [--only NAME]... [--out RESULTS.json]

A program is run with every copy forbidden. It ends at the first; that line is allowed, and it runs again, until it goes
through. The lines at which it raised must be those of its expectations (../crossings/expectations.py). Exits 1 when
anything differs.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
CROSSINGS = os.path.join(HERE, "..", "crossings")
sys.path[:0] = [HERE, CROSSINGS, os.path.join(HERE, "..", "..", "..", "bench")]

import expectations as ex  # noqa: E402
import raised_lines  # noqa: E402
import result_file  # noqa: E402

# Their copies are made outside of PyTorch: the guard sees none of them.
OUTSIDE = {
    "batched_copies",
    "ctypes_driver",
    "ctypes_runtime",
    "cupy_arrays",
    "managed_memory",
    "numba_arrays",
    "peer_without_access",
}
# Their processes end in ways that the first exception changes: what runs in a child, or on all ranks.
ELSEWHERE = {"nccl_ranks", "forked_child", "spawned_child", "subprocess_child", "forked_beside", "loader_workers"}
MAX_RUNS = 25


@dataclasses.dataclass
class Outcome:
    program: ex.Program
    expected: set[raised_lines.Line] = dataclasses.field(default_factory=set)
    raised: set[raised_lines.Line] = dataclasses.field(default_factory=set)
    problems: list[str] = dataclasses.field(default_factory=list)
    skipped: str | None = None


def run_program(path: str, turnpike: str, gpu_count: int, timeout_s: float) -> Outcome:
    outcome = Outcome(ex.read_program(path))
    gpus = int(outcome.program.suite.get("gpus", "1"))
    if outcome.program.name in ELSEWHERE:
        outcome.skipped = "runs in several processes"
    elif gpus > gpu_count:
        outcome.skipped = f"needs {gpus} GPUs"
    if outcome.skipped:
        return outcome
    if outcome.program.name not in OUTSIDE:
        outcome.expected = raised_lines.expected_lines(outcome.program)
    try:
        raise_until_it_passes(outcome, turnpike, timeout_s)
    except subprocess.TimeoutExpired:
        outcome.problems.append(f"not finished after {timeout_s:.0f} s")
    missing = [one for one in outcome.expected if not any(line.is_as(one) for line in outcome.raised)]
    extra = [line for line in outcome.raised if not any(line.is_as(one) for one in outcome.expected)]
    outcome.problems += [f"did not raise: {line}" for line in sorted(missing)]
    outcome.problems += [f"raised, too: {line}" for line in sorted(extra)]
    return outcome


def raise_until_it_passes(outcome: Outcome, turnpike: str, timeout_s: float) -> None:
    allowed: list[str] = []
    for _ in range(MAX_RUNS):
        rules = [word for kind in raised_lines.DIRECTIONS for word in (f"--{kind}", "disallow")]
        sites = [word for site in allowed for word in ("--allow", site)]
        command = [turnpike, "guard", *rules, *sites, "--", sys.executable, outcome.program.path]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s)
        new = raised_lines.found_in(done.stderr) - outcome.raised
        outcome.raised |= new
        if not new:
            if done.returncode != 0:
                last = done.stderr.strip().splitlines() or ["(it said nothing)"]
                outcome.problems.append(f"exit code {done.returncode} with every line allowed: {last[-1]}")
            return
        if any(line.place == "native" for line in new):
            return  # no site allows what runs no Python
        allowed += sorted({f"{direction} {site}" for direction, site in (line.site() for line in new)})
    outcome.problems.append(f"still raises after {MAX_RUNS} runs")


def row_of(outcome: Outcome) -> dict[str, Any]:
    return result_file.row(
        outcome.program.name,
        "lines that raise",
        "count",
        len(outcome.raised),
        baseline="the program's expectations",
        baseline_value=len(outcome.expected),
        target=len(outcome.expected),
        met=None if outcome.skipped else not outcome.problems,
        lines=[str(line) for line in sorted(outcome.raised)],
        problems=outcome.problems,
        skipped=outcome.skipped,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turnpike", default="turnpike", help="the command to test (default: the one on PATH)")
    parser.add_argument("--out", help="write a result file here")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this program alone; repeatable")
    parser.add_argument("--jobs", type=int, default=8, help="programs at once")
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one run of one program")
    args = parser.parse_args()
    turnpike = shutil.which(args.turnpike)
    if turnpike is None:
        parser.error(f"no command {args.turnpike}: install Turnpike or say --turnpike PATH")
    paths = sorted(glob.glob(os.path.join(CROSSINGS, "programs", "[!_]*.py")))
    paths = [path for path in paths if not args.only or os.path.splitext(os.path.basename(path))[0] in args.only]
    gpu_count = len(result_file.gpu_names())
    if not paths or gpu_count == 0:
        parser.error("no such program" if gpu_count else "nvidia-smi shows no GPU: this suite needs one")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(lambda path: run_program(path, turnpike, gpu_count, args.timeout), paths))
    for outcome in outcomes:
        state = f"skipped: {outcome.skipped}" if outcome.skipped else "ok" if not outcome.problems else "WRONG"
        print(f"{outcome.program.name:32} {len(outcome.expected):3} expected {len(outcome.raised):3} raised  {state}")
        for problem in outcome.problems:
            print(f"    {problem}")
    if args.out:
        result_file.write(args.out, "guard", [row_of(outcome) for outcome in outcomes])
    ran = [outcome for outcome in outcomes if not outcome.skipped]
    wrong = [outcome for outcome in ran if outcome.problems]
    print(f"{len(ran) - len(wrong)} of {len(ran)} programs as expected, {len(outcomes) - len(ran)} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
