#!/usr/bin/env python3
"""What recording costs whole processes, and what CUPTI alone would cost them.

    python -m bench.cost --bare libbare_cupti.so [--programs a,b] [--out FOLDER]

Nothing is switched on or off: each process is fresh, and recorded from its start to its end or not at all.

Steady state: for each program, processes of all variants start together, warm up, and then run blocks of steps in turn,
in random order. The others are stopped meanwhile, and each thread wakes up on a core drawn anew. A process counts with
the median of its blocks. Each process of a variant is paired with one of the variant that it is compared with; the
figure is the median of the pairs' ratios. Alike processes differ by more than the blocks of one, because memory lies
differently in each, so the interval is over pairs: it lies between two of their ratios, and holds the median of all
such pairs in at least 95 of 100 cases, whatever their distribution. That takes six pairs; with fewer there is no
interval.

Self time, where it is asked for: what the program's threads spend inside of the recorder in a step, by its own count
(TURNPIKE_SELF_TIME=1), over the step of the process that is not recorded. Of two processes with fewer and more steps
the difference counts.

Start: processes of each variant follow one another, alone on the machine. A figure is the time from the start of the
process to the end of its tenth step, less that of the process that is not recorded.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import random
import statistics
import sys
import tempfile
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(BENCH, "field"), BENCH]

import result_file  # noqa: E402
import turnpike_command  # noqa: E402
from live import Died, Live, surroundings  # noqa: E402
from medians import interval  # noqa: E402

WARM_UP = 10
BLOCK_S = 0.06
LEAD = 2
LEAST_STEPS = 2
LEAST_ROUNDS = 5
PAIRS = 6  # the fewest that give an interval
START_S = 180
STEADY = "step, recorded over not recorded"
AFTER_STOP = "step, after stop over never recorded"
OVER_FLOOR = "step, recorded over bare CUPTI"
SELF_TIME = "self time, share of a step"
# After the first ten steps; and the most that the start and these steps may add.
TARGETS = {"transfers": 1.01, "last 10 s": 1.01, "full": 1.05, "dormant": 1.005, "after stop": 1.005}
FLOOR_TARGET = 1.02
START_TARGET_S = 0.5


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a process is started. floor: the variant that asks CUPTI for the same and does nothing with it."""

    name: str
    options: tuple[str, ...] | None = None  # of `turnpike record`; None: it is not recorded
    bare: str | None = None  # the detail of CUPTI alone
    floor: str | None = None
    library: str | None = None  # another build of the recorder
    is_stopped: bool = False  # tp.start before the loop, and tp.stop after the warm-up


PLAIN = Variant("not recorded")
VARIANTS = {
    variant.name: variant
    for variant in (
        PLAIN,
        Variant("transfers", ("--detail", "transfers"), floor="bare CUPTI, transfers"),
        Variant("full", (), floor="bare CUPTI, full"),
        Variant("last 10 s", ("--last", "10"), floor="bare CUPTI, transfers"),
        Variant("full, no stacks", ("--no-stacks",)),
        Variant("dormant", ("--dormant",)),
        Variant("after stop", is_stopped=True),
        Variant("bare CUPTI, transfers", bare="transfers"),
        Variant("bare CUPTI, full", bare="full"),
    )
}
# What of CUPTI costs: measured when they are named.
PARTS = {
    f"bare CUPTI, {bare}": Variant(f"bare CUPTI, {bare}", bare=bare)
    for bare in (
        "full -activities",
        "full -runtime -driver",
        "full -runtime",
        "full -driver",
        "full -pinned",
        "transfers -activities",
        "transfers -runtime -driver",
    )
}
ALL_VARIANTS = VARIANTS | PARTS


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    path: str
    one_core: bool = False

    @property
    def case(self) -> str:
        return f"{self.name}_one_core" if self.one_core else self.name


def programs() -> dict[str, Program]:
    """Those of this folder, and those of bench/field."""
    here, field = os.path.join(HERE, "programs"), os.path.join(BENCH, "field", "programs")
    names = [(name, here) for name in ("mnist_64", "item_loop", "item_loop_thread", "graph_500")]
    names += [(name, field) for name in ("lightning_fit", "hf_trainer", "detection", "pyg_batches", "nanogpt")]
    found = [Program(name, os.path.join(folder, name + ".py")) for name, folder in names]
    found.append(Program("mnist_64", os.path.join(here, "mnist_64.py"), one_core=True))
    return {program.case: program for program in found}


class Harness:
    def __init__(self, args: argparse.Namespace, scratch: str) -> None:
        self.args, self.scratch, self.out = args, scratch, os.path.abspath(args.out)
        self.variants = [PLAIN, *(ALL_VARIANTS[name] for name in args.variants if name != PLAIN.name)]
        self.blocks: dict[str, dict[str, list[list[float]]]] = {}  # by program, variant and process
        self.step_us: dict[str, float] = {}  # by program, not recorded
        self.runs = 0
        self.rows: list[dict[str, Any]] = []
        self.failures: list[str] = []
        os.makedirs(os.path.join(self.out, "logs"), exist_ok=True)

    def folder(self) -> str:
        """Of the newest process."""
        return os.path.join(self.scratch, str(self.runs))

    def live(self, program: Program, variant: Variant, *options: str, variables: dict[str, str] | None = None) -> Live:
        """A process of its own, in a folder of its own."""
        self.runs += 1
        folder = self.folder()
        os.makedirs(folder)
        # Each has a core of its own: one that waits for its turn still has the recorder's threads.
        core = str(self.runs % (os.cpu_count() or 1))
        command = ["taskset", "-c", core] if program.one_core else []
        if variant.options is not None:
            command += [turnpike_command.executable(), "record", "--quiet"]
            if "--dormant" not in variant.options:  # that has no run
                command += ["--no-link", "-o", os.path.join(folder, "run.tpk")]
            command += [*variant.options, "--"]
        device = ["--device", self.args.device]
        command += [sys.executable, program.path, *device, "--warm-up", str(WARM_UP), *options]
        environment = surroundings(folder) | {"PYTHONHASHSEED": "0"} | (variables or {})
        if variant.bare:
            environment |= {"CUDA_INJECTION64_PATH": os.path.abspath(self.args.bare), "BARE_CUPTI": variant.bare}
        if variant.is_stopped:
            environment["RECORDED_FIRST"] = os.path.join(folder, "run.tpk")
        if variant.library:
            environment["TURNPIKE_RECORD_LIBRARY"] = os.path.abspath(variant.library)
        log = os.path.join(self.out, "logs", f"{self.runs}-{program.case}-{variant.name}.log".replace(" ", "-"))
        return Live(command, log, environment, os.path.dirname(program.path))

    def steady(self, program: Program) -> None:
        """Blocks of all variants in turn."""
        lives = [
            self.live(program, variant, "--turns") for variant in self.variants for _ in range(self.args.processes)
        ]
        try:
            until = time.monotonic() + START_S
            for live in lives:
                live.answer(until - time.monotonic())
            for live in lives:
                live.pause()
            blocks = self.take_turns(lives)
        except Died as error:
            self.failed(f"{program.case}: {error}")
            return
        finally:
            for live in lives:
                live.end()
        self.add_steady_rows(program, blocks)

    def take_turns(self, lives: list[Live]) -> list[list[float]]:
        """For each process, the microseconds a step of each round."""

        def block(live: Live, lead: int, steps: int) -> float:
            live.resume()
            us = live.block(lead, steps, 60)
            live.pause()
            return us

        steps = min(4000, max(LEAST_STEPS, round(BLOCK_S * 1e6 / block(lives[0], LEAD, LEAST_STEPS))))
        lead = max(LEAD, steps // 10)
        order, blocks = random.Random(0), [[] for _ in lives]
        until = time.monotonic() + self.args.seconds
        while len(blocks[0]) < LEAST_ROUNDS or time.monotonic() < until:
            for index in order.sample(range(len(lives)), len(lives)):
                blocks[index].append(block(lives[index], lead, steps))
        return blocks

    def add_steady_rows(self, program: Program, blocks: list[list[float]]) -> None:
        count = self.args.processes
        of = {v.name: blocks[first * count : (first + 1) * count] for first, v in enumerate(self.variants)}
        step_us = self.step_us[program.case] = round(level(of[PLAIN.name]), 1)
        for variant in self.variants[1:]:
            case, target = f"{program.case}, {variant.name}", TARGETS.get(variant.name)
            metric = AFTER_STOP if variant.is_stopped else STEADY
            self.add_ratio(case, metric, of[variant.name], of[PLAIN.name], target, step_us=step_us)
            if variant.floor in of:
                self.add_ratio(case, OVER_FLOOR, of[variant.name], of[variant.floor], FLOOR_TARGET)
        self.blocks[program.case] = {name: [[round(us, 1) for us in row] for row in rows] for name, rows in of.items()}
        self.write()

    def self_time(self, program: Program) -> None:
        """What the recorder itself takes of a step, for each variant that has a run."""
        step_us = self.step_us.get(program.case)
        if step_us is None:
            return  # its steady state could not be measured, as was said
        more = max(10 * LEAST_STEPS, round(self.args.self_time_seconds * 1e6 / step_us))
        for variant in self.variants:
            if variant.options is None or "--dormant" in variant.options:
                continue
            try:
                few_count, few_ns = self.spent(program, variant, LEAST_STEPS)
                count, ns = self.spent(program, variant, LEAST_STEPS + more)
            except (Died, RuntimeError) as error:
                self.failed(f"{program.case}, {variant.name}, self time: {error}")
                continue
            share = (ns - few_ns) / more / (step_us * 1e3)
            self.rows.append(
                result_file.row(f"{program.case}, {variant.name}", SELF_TIME, "ratio", round(share, 5), samples=more,
                                step_us=step_us, self_ns_per_step=round((ns - few_ns) / more),
                                callbacks_per_step=round((count - few_count) / more, 1))
            )  # fmt: skip
            print(f"{program.case + ', ' + variant.name:44} {SELF_TIME:36} {share:.4f}", flush=True)
        self.write()

    def spent(self, program: Program, variant: Variant, steps: int) -> tuple[int, int]:
        """How often and for how many nanoseconds threads were in the recorder, in a process of so many steps."""
        live = self.live(program, variant, "--turns", variables={"TURNPIKE_SELF_TIME": "1"})
        try:
            live.answer(START_S)
            live.block(LEAD, steps, START_S)
            live.send("")  # it ends
            live.wait(START_S)
        finally:
            live.end()
        report = turnpike_command.turnpike_json("report", "--json", os.path.join(self.folder(), "run.tpk"))
        found = [one["self_time"] for one in report["source"]["identities"] if one["self_time"] is not None]
        if not found:
            raise RuntimeError("the run does not say it")
        return sum(one["count"] for one in found), sum(one["ns"] for one in found)

    def add_ratio(
        self,
        case: str,
        metric: str,
        ours: list[list[float]],
        base: list[list[float]],
        target: float | None,
        **more: Any,
    ) -> None:
        pairs = pair_ratios(ours, base)
        ratio, spread = statistics.median(pairs), interval_of_median(pairs)
        apart = max(spread_of_processes(ours), spread_of_processes(base))
        row = result_file.row(
            case,
            metric,
            "ratio",
            round(ratio, 4),
            spread=spread,
            samples=len(ours[0]),
            baseline_value=1.0,
            target=target,
            met=None if target is None else ratio <= target,
            is_decided=None if target is None else is_decided(spread, target),
            pairs=[round(pair, 4) for pair in pairs],
            processes_apart=round(apart, 4),
            **more,
        )
        self.rows.append(row)
        print(f"{case:44} {metric:36} {ratio:.3f} {spread}, alike processes {apart:.1%} apart{judged(row)}", flush=True)

    def start(self, program: Program) -> None:
        """Whole processes one after the other: the time until ten steps are over."""
        names = [PLAIN, *(ALL_VARIANTS[name] for name in self.args.start_variants)]
        times: dict[str, list[float]] = {variant.name: [] for variant in names}
        order = random.Random(0)
        until = time.monotonic() + self.args.start_seconds
        while len(times[PLAIN.name]) < 3 or time.monotonic() < until:
            for variant in order.sample(names, len(names)):
                began = time.monotonic()
                live = self.live(program, variant, "--turns")
                try:
                    live.answer(START_S)
                    times[variant.name].append(time.monotonic() - began)
                except Died as error:
                    self.failed(f"{program.case}, start: {error}")
                    return
                finally:
                    live.end()
        plain = times[PLAIN.name]
        for variant in names[1:]:
            added = [one - other for one, other in zip(times[variant.name], plain, strict=True)]
            target = START_TARGET_S if variant.options is not None else None
            middle = statistics.median(added)
            self.rows.append(
                result_file.row(f"{program.case}, {variant.name}", "added until the tenth step", "s", round(middle, 3),
                                spread=interval(added), samples=len(added), baseline="not recorded",
                                baseline_value=round(statistics.median(plain), 3), target=target,
                                met=None if target is None else middle <= target)
            )  # fmt: skip
            print(f"{program.case}, {variant.name}: {middle:+.3f} s {interval(added)} until the tenth step", flush=True)
        self.write()

    def failed(self, what: str) -> None:
        self.failures.append(what)
        print(f"FAILED {what}", flush=True)
        self.write()

    def write(self) -> None:
        path = os.path.join(self.out, f"cost-{result_file.short_gpu_name()}.json")
        result_file.write(path, "cost", self.rows, failures=self.failures, blocks=self.blocks)


def level(processes: list[list[float]]) -> float:
    return statistics.median(map(statistics.median, processes))


def pair_ratios(ours: list[list[float]], base: list[list[float]]) -> list[float]:
    """Of each pair of processes: how much longer ours takes."""
    return [statistics.median(one) / statistics.median(other) for one, other in zip(ours, base, strict=True)]


def spread_of_processes(processes: list[list[float]]) -> float:
    """How much longer the slowest takes than the fastest."""
    medians = [statistics.median(blocks) for blocks in processes]
    return max(medians) / min(medians) - 1


def interval_of_median(values: list[float]) -> list[float] | None:
    """The narrowest pair of order statistics that holds the median in at least 95 % of cases. None: too few values.

    Each value lies below the true median with probability 1/2. So the k-th lowest lies above it with the probability
    that fewer than k of n fair coins show heads, and the k-th highest below it with the same.
    """
    n, ordered = len(values), sorted(values)
    ways = 0
    for k in range(n // 2 + 1):
        ways += math.comb(n, k)
        if 2 * ways / 2**n > 0.05:
            return None if k == 0 else [round(ordered[k - 1], 4), round(ordered[-k], 4)]
    return None


def is_decided(spread: list[float] | None, target: float) -> bool:
    """Whether the whole interval lies on one side of the target."""
    return spread is not None and (spread[1] <= target or spread[0] > target)


def judged(row: dict[str, Any]) -> str:
    if row["target"] is None:
        return ""
    return f"  target {row['target']} {'met' if row['met'] else 'MISSED'}{'' if row['is_decided'] else ', undecided'}"


def main() -> int:
    known = programs()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    several = {"type": lambda text: [part for part in text.split(";") if part]}
    parser.add_argument("--programs", default=list(known), **several, help="separated by semicolons; default: all")
    parser.add_argument("--variants", default=list(VARIANTS), **several, help="separated by semicolons; default: all")
    parser.add_argument("--bare", metavar="FILE", help="libbare_cupti.so; without, CUPTI alone is not measured")
    parser.add_argument("--library", action="append", default=[], metavar="NAME=FILE",
                        help="a variant: everything, recorded by this build of libturnpike_record.so")  # fmt: skip
    parser.add_argument("--processes", type=int, default=PAIRS,
                        help=f"of each variant; an interval takes {PAIRS} (default: {PAIRS})")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=30, help="for the steady state of one program")
    parser.add_argument("--self-time-seconds", type=float, default=0,
                        help="for what the recorder itself takes of a step; 0: leave it out")  # fmt: skip
    parser.add_argument("--start-seconds", type=float, default=60, help="for the start of one program")
    parser.add_argument("--start-programs", default=["mnist_64"], **several, help="whose start is measured")
    parser.add_argument("--start-variants", default=["transfers", "full", "bare CUPTI, full"], **several)
    parser.add_argument("--seconds-in-all", type=float, default=480, help="after these no program is begun")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try the harness itself out")
    parser.add_argument("--out", default="cost-results", help="the folder for results and logs")
    args = parser.parse_args()
    for name, _, path in (given.partition("=") for given in args.library):
        ALL_VARIANTS[name] = Variant(name, (), floor="bare CUPTI, full", library=path)
        args.variants.append(name)
    for named, there in (({*args.programs, *args.start_programs}, known), ({*args.variants}, ALL_VARIANTS)):
        if unknown := named - set(there):
            parser.error(f"unknown: {'; '.join(sorted(unknown))}. There are: {'; '.join(there)}")
    if args.bare is None:
        args.start_variants = [name for name in args.start_variants if not ALL_VARIANTS[name].bare]
        args.variants = [name for name in args.variants if not ALL_VARIANTS[name].bare]
    until = time.monotonic() + args.seconds_in_all
    with tempfile.TemporaryDirectory(prefix="cost-", ignore_cleanup_errors=True) as scratch:
        harness = Harness(args, scratch)
        work = [(harness.steady, name) for name in args.programs]
        if args.self_time_seconds > 0:
            work += [(harness.self_time, name) for name in args.programs]
        work += [(harness.start, name) for name in args.start_programs]
        for measure, name in work:
            if time.monotonic() > until:
                harness.failed(f"{name}: not begun, the time was over")
                continue
            measure(known[name])
    missed = any(row["met"] is False for row in harness.rows)
    return 1 if missed or harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
