#!/usr/bin/env python3
"""What recording costs: real training steps with the recorder switched on and off in alternating blocks of one process.

    bench/overhead.py [--seconds 25] [--out bench/results/overhead-GPU.json]

A pair is two neighbouring blocks of the same number of steps, one recorded and one not, in random order; starting,
stopping and the first steps of a block are not timed. The figure is the median over the pairs of on/off, with a 95 %
interval by bootstrap: as many pairs as make it +-1 %, or as fit into the time of a mode. A guard costs less than that,
so its blocks are of a few steps, and there are more of them. What its hooks themselves take is counted besides
(TURNPIKE_SELF_TIME=1), in a process of its own, since the counting takes time, too. torch.profiler is measured in the
same manner as the recorder, in another process, since it and a recorder cannot both hold CUPTI. Some of the recorded
blocks are checked against the steps that ran.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import result_file  # noqa: E402
from overhead_workloads import WORKLOADS, Workload  # noqa: E402

# Fewer pairs than this say nothing about the width of the interval.
MIN_PAIRS = 20
# Between two collections of garbage, which take longer than short blocks.
GARBAGE_S = 0.2
# The figure is good enough when its interval is this wide on each side.
WANTED_HALF_WIDTH = 0.01
# For targets that are closer to 1 than that. Blocks of a few steps each, because a machine's speed drifts by more.
NARROW_HALF_WIDTH = 0.0015
NARROW_BLOCK_S = 0.008
TARGETS = {
    "transfers": 1.01,
    "full": 1.05,
    "guard": 1.005,
    "guard, a block in each step": 1.005,
    "guard, limits not reached": 1.005,
    "guard, nothing entered": 1.005,
}
# Of a step: the most that the guard's hooks themselves may take.
SELF_TIME_TARGET = 0.005
SELF_TIME = "self time, share of a step"


class TurnpikeMode:
    """The recorder, on for a block; checks what it recorded against the steps of that block."""

    half_width = WANTED_HALF_WIDTH
    check_every = 20

    def __init__(self, detail: str, stacks: bool) -> None:
        self.options = {"detail": detail, "stacks": stacks}
        self.folder = tempfile.mkdtemp(prefix="overhead-")
        self.problems: list[str] = []
        self.trace_bytes_per_step = 0.0

    def start(self) -> None:
        import turnpike

        turnpike.start(os.path.join(self.folder, "block.tpk"), **self.options)

    def stop(self) -> None:
        import turnpike

        self.file = turnpike.stop()

    def check(self, workload: Workload, steps: int) -> None:
        import turnpike

        self.trace_bytes_per_step = os.path.getsize(self.file) / steps
        report = turnpike.report(self.file)
        wanted = {"h2d": workload.uploads_per_step * steps, "d2h": steps}
        found = {direction: report.totals[direction].count for direction in wanted}
        if found != wanted:
            self.problems.append(f"{steps} steps: {wanted} expected, {found} recorded")
        if report.losses:
            self.problems.append(f"losses: {report.losses}")

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class GuardMode:
    """A guard that notes every crossing and raises none, entered for a block."""

    half_width = NARROW_HALF_WIDTH
    block_s = NARROW_BLOCK_S
    check_every = 500

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.guard: Any = None

    def start(self) -> None:
        import turnpike

        self.guard = turnpike.guard(h2d="log", d2h="log", sync="log", pageable="log", strict=True)
        self.guard.__enter__()

    def stop(self) -> None:
        self.guard.__exit__(None, None, None)

    def check(self, workload: Workload, steps: int) -> None:
        from turnpike._guard import log

        if not log.counts():
            self.problems.append("the guard saw nothing")

    def clear(self) -> None:
        pass

    def close(self) -> None:
        pass


class GuardedStepsMode(GuardMode):
    """The same, entered and left in each step."""

    def start(self) -> None:
        import turnpike

        self.guard = turnpike.guard(h2d="log", d2h="log", sync="log", pageable="log", strict=True)

    def stop(self) -> None:
        pass

    def step_of(self, workload: Workload) -> Callable[[], Any]:
        guard, step = self.guard, workload.step

        def guarded() -> Any:
            with guard:
                return step()

        return guarded


class LimitsMode(GuardMode):
    """A guard whose limits no step reaches, entered for a block."""

    def start(self) -> None:
        import turnpike

        most = 10**12
        self.guard = turnpike.guard(h2d=most, d2h=most, sync=most, pageable=most, strict=True)
        self.guard.__enter__()

    def check(self, workload: Workload, steps: int) -> None:
        import turnpike

        # That the guard sees the steps: without room for one it stops them.
        try:
            with turnpike.guard(h2d=0, d2h=0, strict=True):
                workload.step()
        except turnpike.TransferError:
            return
        self.problems.append("the guard stopped nothing")


class UnusedGuardMode(GuardMode):
    """PyTorch's slots are taken, and no guard is entered."""

    def start(self) -> None:
        from turnpike._guard.library import call

        if not call("take_slots"):
            self.problems.append("no slots were taken")

    def stop(self) -> None:
        from turnpike._guard.library import call

        call("restore_slots")

    def check(self, workload: Workload, steps: int) -> None:
        pass


class ProfilerMode:
    """torch.profiler, on for a block."""

    half_width = WANTED_HALF_WIDTH
    check_every = 20

    def __init__(self, cpu: bool, stacks: bool) -> None:
        activities = [torch.profiler.ProfilerActivity.CUDA]
        if cpu:
            activities.append(torch.profiler.ProfilerActivity.CPU)
        self.options = {"activities": activities, "with_stack": stacks}
        self.problems: list[str] = []
        self.profiler: torch.profiler.profile | None = None

    def start(self) -> None:
        self.profiler = torch.profiler.profile(**self.options)
        self.profiler.start()

    def stop(self) -> None:
        self.profiler.stop()

    def check(self, workload: Workload, steps: int) -> None:
        events = self.profiler.profiler.kineto_results.events()
        kernels = sum(event.device_type() == torch.autograd.DeviceType.CUDA for event in events)
        if kernels < steps:
            self.problems.append(f"torch.profiler recorded {kernels} device events in {steps} steps")

    def clear(self) -> None:
        self.profiler = None

    def close(self) -> None:
        pass


TURNPIKE_MODES = {
    "transfers": lambda: TurnpikeMode("transfers", True),
    "transfers, no stacks": lambda: TurnpikeMode("transfers", False),
    "full": lambda: TurnpikeMode("full", True),
    "full, no stacks": lambda: TurnpikeMode("full", False),
    "guard": GuardMode,
    "guard, a block in each step": GuardedStepsMode,
    "guard, limits not reached": LimitsMode,
    "guard, nothing entered": UnusedGuardMode,
}
BY_DEFAULT = ("transfers", "full", "full, no stacks")
GUARD_MODES = {name: make for name, make in TURNPIKE_MODES.items() if name.startswith("guard")}
PROFILER_MODES = {
    "torch.profiler CUDA": lambda: ProfilerMode(False, False),
    "torch.profiler CPU+CUDA": lambda: ProfilerMode(True, False),
    "torch.profiler CPU+CUDA, stacks": lambda: ProfilerMode(True, True),
}


def timed_block(
    workload: Workload,
    steps: int,
    warm_steps: int,
    synchronize: Callable[[], None],
    step: Callable[[], Any] | None = None,
) -> tuple[float, float]:
    """Seconds of `steps` steps, and of their median step, after `warm_steps` that do not count."""
    step = step or workload.step
    for _ in range(warm_steps):
        step()
    values, ends = [], []
    synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        values.append(step())
        ends.append(time.perf_counter())
    synchronize()
    whole = time.perf_counter() - start
    workload.check(values)
    return whole, float(np.median(np.diff([start, *ends])))


def median_interval(ratios: list[float], resamples: int = 2000) -> tuple[float, float, float]:
    """Median and the 95 % interval that the bootstrap gives it."""
    values = np.asarray(ratios)
    picks = np.random.default_rng(0).integers(0, len(values), (resamples, len(values)))
    medians = np.median(values[picks], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)


def measure(
    workload: Workload, mode: Any, seconds: float, block_s: float, synchronize: Callable[[], None]
) -> dict[str, Any]:
    """Pairs of blocks until the interval is narrow enough or `seconds` are over."""
    steps, warm_steps = block_length(workload, getattr(mode, "block_s", block_s), synchronize)
    wholes: list[float] = []
    medians: list[float] = []
    off_s: list[float] = []
    order = random.Random(0)
    deadline = time.monotonic() + seconds
    looked_at, collected = MIN_PAIRS, 0.0
    while time.monotonic() < deadline:
        times = {}
        for is_on in order.sample([True, False], 2):
            if is_on:
                mode.start()
                step = mode.step_of(workload) if hasattr(mode, "step_of") else None
                times[True] = timed_block(workload, steps, warm_steps, synchronize, step)
                mode.stop()
                if len(wholes) % mode.check_every == 0:
                    mode.check(workload, steps + warm_steps)
                mode.clear()
            else:
                times[False] = timed_block(workload, steps, warm_steps, synchronize)
        wholes.append(times[True][0] / times[False][0])
        medians.append(times[True][1] / times[False][1])
        off_s.append(times[False][0] / steps)
        if time.monotonic() - collected > GARBAGE_S:
            gc.collect()
            collected = time.monotonic()
        if len(wholes) >= looked_at:
            if is_narrow(wholes, mode.half_width):
                break
            looked_at = max(looked_at + 5, round(1.1 * looked_at))
    mode.close()
    return {"wholes": wholes, "medians": medians, "off_step_s": float(np.median(off_s)), "steps": steps}


def is_narrow(ratios: list[float], half_width: float) -> bool:
    _, low, high = median_interval(ratios)
    return (high - low) / 2 <= half_width


def block_length(workload: Workload, block_s: float, synchronize: Callable[[], None]) -> tuple[int, int]:
    """Steps for a block of about `block_s`, and how many to leave out before it."""
    timed_block(workload, 10, 10, synchronize)
    seconds = timed_block(workload, 20, 0, synchronize)[0] / 20
    steps = max(5, round(block_s / seconds))
    return steps, max(2, steps // 10)


def rows_of(case: str, name: str, mode: Any, found: dict[str, Any]) -> list[dict[str, Any]]:
    value, low, high = median_interval(found["wholes"])
    middle, middle_low, middle_high = median_interval(found["medians"])
    target = TARGETS.get(name)
    common = {"samples": len(found["wholes"]), "problems": mode.problems}
    first = result_file.row(
        f"{case}, {name}",
        "time of a block, recorded over not recorded",
        "ratio",
        round(value, 4),
        spread=[round(low, 4), round(high, 4)],
        baseline="not recorded",
        baseline_value=1.0,
        target=target,
        met=None if target is None else value <= target and not mode.problems,
        off_step_us=round(found["off_step_s"] * 1e6, 1),
        steps_per_block=found["steps"],
        trace_bytes_per_step=round(getattr(mode, "trace_bytes_per_step", 0)) or None,
        **common,
    )
    second = result_file.row(
        f"{case}, {name}",
        "median step, recorded over not recorded",
        "ratio",
        round(middle, 4),
        spread=[round(middle_low, 4), round(middle_high, 4)],
        baseline="not recorded",
        baseline_value=1.0,
        **common,
    )
    return [first, second]


def show(row: dict[str, Any]) -> None:
    low, high = row["spread"]
    judged = "" if row["met"] is None else f"  target {row['target']} {'met' if row['met'] else 'MISSED'}"
    print(f"{row['case']:48} {row['metric'].split(',')[0]:16} {row['value']:.4f}  [{low:.4f}, {high:.4f}]", end="")
    print(f"  {row['samples']} pairs{judged}", flush=True)
    for problem in row["problems"]:
        print(f"    {problem}", flush=True)


def run_modes(
    modes: dict[str, Callable[[], Any]],
    args: argparse.Namespace,
    seconds: float,
    keep: Callable[[list[dict[str, Any]]], None] = lambda rows: None,
) -> list[dict[str, Any]]:
    """Gives the rows to `keep` after each mode: those of a run that is cut off are not lost."""
    synchronize = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    rows = []
    for case in args.workload:
        torch.manual_seed(1)
        workload = WORKLOADS[case](args.device)
        for name, make in modes.items():
            if args.mode and name not in args.mode:
                continue
            mode = make()
            found = measure(workload, mode, seconds, args.block, synchronize)
            for row in rows_of(case, name, mode, found):
                show(row)
                rows.append(row)
            keep(rows)
    return rows


@contextlib.contextmanager
def no_garbage_collection():
    # A collection in one block of a pair and not in the other is noise of 10 ms.
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def guard_self_time() -> tuple[int, int]:
    """How often PyTorch called through the guard so far, and the nanoseconds that its hooks took."""
    from turnpike._guard.library import functions

    count, ns = ctypes.c_uint64(), ctypes.c_uint64()
    if not functions()["self_time"](count, ns):
        raise RuntimeError("TURNPIKE_SELF_TIME=1 is not set")
    return count.value, ns.value


def self_time_row(
    case: str, name: str, mode: Any, workload: Workload, args: argparse.Namespace, seconds: float
) -> dict[str, Any]:
    """What the guard's hooks take of a step that is not guarded, over blocks of steps."""
    synchronize = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    steps, warm_steps = block_length(workload, args.block, synchronize)
    shares, calls, ns_per_step = [], [], []
    deadline = time.monotonic() + seconds
    while len(shares) < MIN_PAIRS or time.monotonic() < deadline:
        off_s = timed_block(workload, steps, warm_steps, synchronize)[0] / steps
        mode.start()
        step = mode.step_of(workload) if hasattr(mode, "step_of") else None
        timed_block(workload, warm_steps, 0, synchronize, step)
        count, ns = guard_self_time()
        timed_block(workload, steps, 0, synchronize, step)
        count_after, ns_after = guard_self_time()
        mode.stop()
        calls.append((count_after - count) / steps)
        ns_per_step.append((ns_after - ns) / steps)
        shares.append(ns_per_step[-1] / (off_s * 1e9))
    mode.check(workload, steps)
    mode.close()
    if args.device == "cuda" and not any(calls):
        mode.problems.append("no call went through the guard")
    value, low, high = median_interval(shares)
    return result_file.row(
        f"{case}, {name}",
        SELF_TIME,
        "ratio",
        round(value, 6),
        spread=[round(low, 6), round(high, 6)],
        target=SELF_TIME_TARGET,
        met=value <= SELF_TIME_TARGET and not mode.problems,
        samples=len(shares),
        calls_per_step=round(float(np.median(calls)), 1),
        self_ns_per_step=round(float(np.median(ns_per_step))),
        problems=mode.problems,
    )


def run_self_time(args: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for case in args.workload:
        torch.manual_seed(1)
        workload = WORKLOADS[case](args.device)
        for name in args.mode:
            if name in GUARD_MODES:
                rows.append(self_time_row(case, name, GUARD_MODES[name](), workload, args, args.self_time_seconds))
                show(rows[-1])
    return rows


def rows_of_process(option: str, more: list[str], args: argparse.Namespace, **variables: str) -> list[dict[str, Any]]:
    """The rows that a process of its own measures."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, os.path.abspath(__file__), option, file.name, "--device", args.device]
        command += ["--block", str(args.block), *more]
        for case in args.workload:
            command += ["--workload", case]
        subprocess.run(command, check=True, env=os.environ | variables)
        with open(file.name) as rows:
            return json.load(rows)


def profiler_rows(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of torch.profiler."""
    return rows_of_process("--only-profilers", ["--profiler-seconds", str(args.profiler_seconds)], args)


def self_time_rows(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of what the guard's hooks take."""
    more = ["--self-time-seconds", str(args.self_time_seconds)]
    for name in args.mode:
        more += ["--mode", name]
    return rows_of_process("--only-self-time", more, args, TURNPIKE_SELF_TIME="1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=25, help="for each mode of the recorder on each workload")
    parser.add_argument(
        "--profiler-seconds", type=float, default=8, help="for each mode of torch.profiler; 0: leave it out"
    )
    parser.add_argument("--block", type=float, default=0.12, help="seconds of a block")
    parser.add_argument("--workload", action="append", choices=WORKLOADS, help="may be repeated; default: all")
    parser.add_argument(
        "--mode", action="append", choices=TURNPIKE_MODES, help=f"may be repeated; default: {', '.join(BY_DEFAULT)}"
    )
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try the program itself out")
    parser.add_argument("--out", help="default: bench/results/overhead-GPU.json")
    parser.add_argument(
        "--self-time-seconds", type=float, default=4, help="for the hooks of each mode of the guard; 0: leave it out"
    )
    parser.add_argument("--only-profilers", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--only-self-time", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.workload = args.workload or list(WORKLOADS)
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU")
    warnings.filterwarnings("ignore", module="torch.profiler")

    if args.only_profilers or args.only_self_time:
        with no_garbage_collection():
            rows = (
                run_self_time(args) if args.only_self_time else run_modes(PROFILER_MODES, args, args.profiler_seconds)
            )
        with open(args.only_self_time or args.only_profilers, "w") as file:
            json.dump(rows, file)
        return 0

    args.mode = args.mode or list(BY_DEFAULT)
    out = args.out or os.path.join(HERE, "results", f"overhead-{result_file.short_gpu_name()}.json")
    with no_garbage_collection():
        rows = run_modes(TURNPIKE_MODES, args, args.seconds, lambda rows: result_file.write(out, "overhead", rows))
    if args.self_time_seconds > 0 and not GUARD_MODES.keys().isdisjoint(args.mode):
        rows += self_time_rows(args)
        result_file.write(out, "overhead", rows)
    if args.profiler_seconds > 0:
        rows += profiler_rows(args)
        result_file.write(out, "overhead", rows)
    return 1 if any(row["met"] is False or row["problems"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
