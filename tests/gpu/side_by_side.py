#!/usr/bin/env python3
"""The same program recorded by Turnpike and by torch.profiler: both recordings must give the same report.

    tests/gpu/side_by_side.py [--steps 10] [--out RESULTS.json] [--keep DIR]     on a GPU
    tests/gpu/side_by_side.py --compare OURS THEIRS                              two recordings of one program
    tests/gpu/side_by_side.py --dry-run                                          only runs the programs, on a CPU

Each program runs twice, in a process of its own: once under `turnpike record`, once under torch.profiler. Both watch
the same steps, behind the same warm-up. Compared is what both sources know: counts and bytes of each direction, how
many copies are of pageable memory, the synchronisations, the number of steps, what the program is bound by.
--keep leaves PROGRAM.tpk and PROGRAM.json.gz in DIR, which tests/golden/test_side_by_side.py compares without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "whatif")]

import result_file  # noqa: E402

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h", "memset")
WARM_STEPS = 5
# The device times are of two runs, one after the other; small copies vary by some microseconds, whatever they carry.
TIME_TOLERANCE = 0.25
TIME_TOLERANCE_NS = 3000
WIDTH = 2048


@dataclass
class Compared:
    """One figure of both reports. is_same: None where one source does not know it, or nothing is asked of it."""

    figure: str
    unit: str
    ours: Any
    theirs: Any
    is_same: bool | None


# The programs: every kind of transfer, with copies that hold the host, and kernels that never wait for it.


def transfers(device: str) -> Callable[[int], None]:
    import torch

    pageable, pinned = torch.randn(WIDTH, WIDTH), torch.randn(WIDTH, WIDTH).pin_memory()
    back = torch.empty(WIDTH, WIDTH).pin_memory()
    weights = torch.randn(WIDTH, WIDTH, device=device)
    kept = torch.empty(WIDTH, WIDTH, device=device)

    def step(i: int) -> None:
        x = pageable.to(device)
        y = pinned.to(device, non_blocking=True)
        kept.zero_()
        z = weights.mm(x).add_(y)
        kept.copy_(z)
        back.copy_(kept, non_blocking=True)
        z.mean().item()
        z[:64].cpu()
        torch.cuda.synchronize()

    return step


def kernels(device: str) -> Callable[[int], None]:
    import torch

    batch = torch.randn(WIDTH, WIDTH).pin_memory()
    weights = torch.randn(2 * WIDTH, 2 * WIDTH, device=device)
    slot = torch.empty(WIDTH, WIDTH, device=device)
    compute, side = torch.cuda.current_stream(), torch.cuda.Stream()
    arrived, used = torch.cuda.Event(), torch.cuda.Event()

    def step(i: int) -> None:
        side.wait_event(used)
        with torch.cuda.stream(side):
            slot.copy_(batch, non_blocking=True)
        arrived.record(side)
        for _ in range(8):
            weights.mm(weights)
        compute.wait_event(arrived)
        slot.mul_(2)
        used.record(compute)

    return step


PROGRAMS = {"transfers": transfers, "kernels": kernels}


def work(program: str, steps: int, watch: contextlib.AbstractContextManager[Any]) -> None:
    """Warms up, then runs the steps inside of `watch`."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    step = PROGRAMS[program](device)
    for i in range(WARM_STEPS):
        step(i)
    torch.cuda.synchronize()
    with watch:
        for i in range(steps):
            # A step for either: our recorder takes the ranges of NVTX, torch.profiler those of PyTorch.
            with torch.cuda.nvtx.range("step"), torch.profiler.record_function("step"):
                step(i)
        torch.cuda.synchronize()


def work_for_ours(program: str, steps: int) -> None:
    import torch

    work(program, steps, torch.cuda.profiler.profile())


def work_for_theirs(program: str, steps: int, path: str) -> None:
    import torch

    wanted = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        wanted.append(torch.profiler.ProfilerActivity.CUDA)
    # The first use of the profiler in a process sets it up, which is no part of any step.
    with torch.profiler.profile(activities=wanted):
        torch.ones(1)
    profiler = torch.profiler.profile(activities=wanted)
    work(program, steps, profiler)
    profiler.export_chrome_trace(path)


def run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(turnpike: str, program: str, steps: int, folder: str) -> tuple[str, str]:
    """Both recordings of a program, below `folder`."""
    itself = [sys.executable, os.path.abspath(__file__), "--steps", str(steps), "--work", program]
    # Names without a folder: they are written into the recordings.
    ours, theirs = f"{program}.tpk", f"{program}.json.gz"
    options = ["--force", "--quiet", "--capture-range", "cuda-profiler-api"]
    run([turnpike, "record", "-o", ours, *options, "--", *itself], folder)
    run([*itself, "--profile", theirs], folder)
    return os.path.join(folder, ours), os.path.join(folder, theirs)


def report_of(turnpike: str, path: str) -> dict[str, Any]:
    return json.loads(run([turnpike, "report", path, "--json"], os.getcwd()))


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> list[Compared]:
    """What two reports (of `turnpike report --json`) say of one program."""
    rows = []

    def add(figure: str, unit: str, own: Any, other: Any, is_same: Callable[[Any, Any], bool] | None = None) -> None:
        same = None
        if own is not None and other is not None:
            same = is_same(own, other) if is_same else own == other
        rows.append(Compared(figure, unit, own, other, same))

    for direction in DIRECTIONS:
        own, other = ours["totals"][direction], theirs["totals"][direction]
        if not own["count"] and not other["count"]:
            continue
        add(f"{direction} count", "copies", own["count"], other["count"])
        add(f"{direction} bytes", "bytes", own["bytes"], other["bytes"])
        add(f"{direction} pageable", "copies", own["pageable_count"], other["pageable_count"])
        times = [one["device_time_ns"] for one in (own, other)]
        if own["pageable_count"] or other["pageable_count"]:
            # Shown, not compared: the host stages them meanwhile (19 and 13 ms for the same ten copies).
            rows.append(Compared(f"{direction} device time", "ns", *times, None))
            continue
        slack_ns = TIME_TOLERANCE_NS * own["count"]
        add(
            f"{direction} device time",
            "ns",
            *times,
            lambda a, b, slack=slack_ns: abs(a - b) <= TIME_TOLERANCE * max(a, b) + slack,
        )
    steps = [report["steps"] or {} for report in (ours, theirs)]
    add("steps", "steps", *(one.get("count") for one in steps))
    # torch.profiler synchronises once more when it stops; in the steps alone that is not seen.
    counts = [report["syncs"].get("count") for report in (ours, theirs)]
    add("syncs", "calls", *counts, lambda a, b: 0 <= b - a <= 1)
    add("syncs in a step", "calls", syncs_of_step(ours), syncs_of_step(theirs), lambda a, b: abs(a - b) < 1e-9)
    add("bound by", "", ours["verdict"]["bound_by"] or None, theirs["verdict"]["bound_by"] or None)
    # torch.profiler slows the host down, so these are told and not compared.
    for name, figures in (
        ("step (median)", [one.get("median_ns") for one in steps]),
        ("host blocked in syncs", [report["syncs"]["host_blocked_ns"] for report in (ours, theirs)]),
    ):
        rows.append(Compared(name, "ns", *figures, None))
    return rows


def syncs_of_step(report: dict[str, Any]) -> float | None:
    whole_count = (report["steps"] or {}).get("whole_count")
    if not whole_count:
        return None
    return sum(site["in_steps"]["count"] for site in report["sync_sites"]) / whole_count


def losses_of(report: dict[str, Any]) -> list[str]:
    return [f"{name} ({count})" for name, count in report["losses"].items()]


def table(rows: list[Compared]) -> str:
    words = {True: "same", False: "DIFFERENT", None: "not compared"}
    lines = [f"  {'':24}{'Turnpike':>16}{'torch.profiler':>16}"]
    for row in rows:
        own, other = ("unknown" if value is None else shown(value) for value in (row.ours, row.theirs))
        lines.append(f"  {row.figure:24}{own:>16}{other:>16}  {row.unit:7}{words[row.is_same]}")
    return "\n".join(lines)


def shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def result_rows(program: str, rows: list[Compared]) -> list[dict[str, Any]]:
    """In the form of bench/results; "bound by" has no number, so it is a row that is 1 where both say the same."""
    made = []
    for row in rows:
        is_number = isinstance(row.ours, int | float) or isinstance(row.theirs, int | float)
        value = row.ours if is_number else float(bool(row.is_same))
        more = {} if is_number else {"ours": row.ours, "theirs": row.theirs}
        made.append(
            result_file.row(
                program,
                row.figure,
                row.unit if is_number else "1 if the same",
                value,
                baseline="torch.profiler" if is_number else None,
                baseline_value=row.theirs if is_number else None,
                target=row.theirs if is_number and row.is_same is not None else None if is_number else 1.0,
                met=row.is_same,
                **more,
            )
        )
    return made


def compare_paths(turnpike: str, ours: str, theirs: str) -> tuple[list[Compared], list[str]]:
    """The compared figures, and what is wrong."""
    reports = [report_of(turnpike, path) for path in (ours, theirs)]
    rows = compare(*reports)
    wrong = [f"{row.figure}: {row.ours} and {row.theirs}" for row in rows if row.is_same is False]
    wrong += [
        f"{path} has losses: {loss}"
        for path, one in zip((ours, theirs), reports, strict=True)
        for loss in losses_of(one)
    ]
    return rows, wrong


def check_programs(turnpike: str, steps: int, keep: str | None, out: str | None) -> int:
    made, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
        for program in PROGRAMS:
            ours, theirs = record(turnpike, program, steps, folder)
            rows, wrong = compare_paths(turnpike, ours, theirs)
            failed += len(wrong)
            made += result_rows(program, rows)
            print(f"{program}, {steps} steps\n{table(rows)}", *wrong, sep="\n", flush=True)
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
    if out:
        result_file.write(out, "side_by_side", made, steps=steps, time_tolerance=TIME_TOLERANCE)
    return 1 if failed else 0


def dry_run(steps: int) -> int:
    import cpu_stand_in

    cpu_stand_in.install()
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
        for program in PROGRAMS:
            path = os.path.join(folder, f"{program}.json.gz")
            work_for_theirs(program, steps, path)
            print(f"{program}: {os.path.getsize(path)} bytes of torch.profiler")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--turnpike", default="turnpike", help="the command (default: the one in PATH)")
    parser.add_argument("--out", metavar="FILE", help="write the figures, in the form of bench/results")
    parser.add_argument("--keep", metavar="DIR", help="leave the recordings there")
    parser.add_argument("--compare", nargs=2, metavar=("OURS", "THEIRS"))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--work", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--profile", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.dry_run:
        return dry_run(args.steps)
    if args.work and args.profile:
        work_for_theirs(args.work, args.steps, args.profile)
        return 0
    if args.work:
        work_for_ours(args.work, args.steps)
        return 0
    if args.compare:
        rows, wrong = compare_paths(args.turnpike, *args.compare)
        print(table(rows), *wrong, sep="\n")
        return 1 if wrong else 0
    return check_programs(args.turnpike, args.steps, args.keep, args.out)


if __name__ == "__main__":
    sys.exit(main())
