#!/usr/bin/env python3
"""What recording costs whole processes, and what CUPTI alone would cost them.

    python -m bench.cost --bare libbare_cupti.so [--programs a,b] [--out FOLDER]

Nothing is switched on or off: each process is fresh, and recorded from its start to its end or not at all.

Steady state: for each program, several processes of each variant start together, warm up, and then run blocks of steps
in turn, in random order. A figure is the median over the rounds of the variant's block to the block that is not
recorded.

Start: processes of each variant follow one another, alone on the machine. A figure is the time from the start of the
process to the end of its tenth step, less that of the process that is not recorded.
"""

from __future__ import annotations

import argparse
import dataclasses
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
from live import Died, Live  # noqa: E402
from medians import interval  # noqa: E402

WARM_UP = 10
BLOCK_S = 0.12
LEAD = 2
LEAST_STEPS = 3
START_S = 180
STEADY = "step, recorded over not recorded"
OVER_FLOOR = "step, recorded over bare CUPTI"
# After the first ten steps; and the most that the start and these steps may add.
TARGETS = {"transfers": 1.01, "full": 1.05}
FLOOR_TARGET = 1.02
START_TARGET_S = 0.5


@dataclasses.dataclass(frozen=True)
class Variant:
    """How a process is started. floor: the variant that asks CUPTI for the same and does nothing with it."""

    name: str
    options: tuple[str, ...] | None = None  # of `turnpike record`; None: it is not recorded
    bare: str | None = None  # the detail of CUPTI alone
    floor: str | None = None


PLAIN = Variant("not recorded")
VARIANTS = {
    variant.name: variant
    for variant in (
        PLAIN,
        Variant("transfers", ("--detail", "transfers"), floor="bare CUPTI, transfers"),
        Variant("full", (), floor="bare CUPTI, full"),
        Variant("full, no stacks", ("--no-stacks",)),
        Variant("bare CUPTI, transfers", bare="transfers"),
        Variant("bare CUPTI, full", bare="full"),
    )
}


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    path: str
    one_core: bool = False

    @property
    def case(self) -> str:
        return f"{self.name}_one_core" if self.one_core else self.name


def programs() -> dict[str, Program]:
    """Those of this folder, and programs that others wrote, of bench/field."""
    here, field = os.path.join(HERE, "programs"), os.path.join(BENCH, "field", "programs")
    names = [(name, here) for name in ("mnist_64", "item_loop", "item_loop_thread", "graph_500")]
    names += [(name, field) for name in ("lightning_fit", "hf_trainer", "detection", "pyg_batches", "nanogpt")]
    found = [Program(name, os.path.join(folder, name + ".py")) for name, folder in names]
    found.append(Program("mnist_64", os.path.join(here, "mnist_64.py"), one_core=True))
    return {program.case: program for program in found}


class Harness:
    def __init__(self, args: argparse.Namespace, scratch: str) -> None:
        self.args, self.scratch, self.out = args, scratch, os.path.abspath(args.out)
        self.variants = [VARIANTS[name] for name in args.variants]
        self.runs = 0
        self.rows: list[dict[str, Any]] = []
        self.failures: list[str] = []
        os.makedirs(os.path.join(self.out, "logs"), exist_ok=True)

    def live(self, program: Program, variant: Variant, *options: str) -> Live:
        """A process of its own, in a folder of its own."""
        self.runs += 1
        folder = os.path.join(self.scratch, str(self.runs))
        os.makedirs(folder)
        # Each has a core of its own: one that waits for its turn still has the recorder's threads.
        core = str(self.runs % (os.cpu_count() or 1))
        command = ["taskset", "-c", core] if program.one_core else []
        if variant.options is not None:
            run = os.path.join(folder, "run.tpk")
            command += [
                turnpike_command.executable(),
                "record",
                "--quiet",
                "--no-link",
                "-o",
                run,
                *variant.options,
                "--",
            ]
        device = ["--device", self.args.device]
        command += [sys.executable, program.path, *device, "--warm-up", str(WARM_UP), *options]
        environment = os.environ | {"TMPDIR": folder, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = "4"
        if variant.bare:
            environment |= {"CUDA_INJECTION64_PATH": os.path.abspath(self.args.bare), "BARE_CUPTI": variant.bare}
        log = os.path.join(self.out, "logs", f"{self.runs}-{program.case}-{variant.name}.log".replace(" ", "-"))
        return Live(command, log, environment, os.path.dirname(program.path))

    def steady(self, program: Program) -> None:
        """Blocks of all variants in turn."""
        names = [variant for variant in self.variants for _ in range(self.args.processes)]
        lives = [(variant, self.live(program, variant, "--turns")) for variant in names]
        try:
            until = time.monotonic() + START_S
            for _, live in lives:
                live.answer(until - time.monotonic())
            blocks = self.take_turns([live for _, live in lives])
        except Died as error:
            self.failed(f"{program.case}: {error}")
            return
        finally:
            for _, live in lives:
                live.end()
        self.add_steady_rows(program, names, blocks)

    def take_turns(self, lives: list[Live]) -> list[list[float]]:
        """For each round, the microseconds a step of each process."""
        first = lives[0].block(LEAD, LEAST_STEPS, 60)
        steps = min(4000, max(LEAST_STEPS, round(BLOCK_S * 1e6 / first)))
        lead = max(LEAD, steps // 10)
        order, rounds = random.Random(0), []
        until = time.monotonic() + self.args.seconds
        while len(rounds) < 5 or time.monotonic() < until:
            row = [0.0] * len(lives)
            for index in order.sample(range(len(lives)), len(lives)):
                row[index] = lives[index].block(lead, steps, 60)
            rounds.append(row)
        return rounds

    def add_steady_rows(self, program: Program, names: list[Variant], blocks: list[list[float]]) -> None:
        def column(variant: Variant) -> list[float]:
            """What each round says of a variant: the median over its processes."""
            return [statistics.median(t for t, v in zip(row, names, strict=True) if v == variant) for row in blocks]

        def ratios(variant: Variant, base: Variant) -> list[float]:
            return [one / other for one, other in zip(column(variant), column(base), strict=True)]

        plain_us = statistics.median(column(PLAIN))
        # How far processes of one variant lie apart: what one process alone could not tell.
        alike = [
            statistics.median(row[index] for row in blocks) for index, variant in enumerate(names) if variant == PLAIN
        ]
        for variant in self.variants:
            if variant == PLAIN:
                continue
            self.add_ratio(f"{program.case}, {variant.name}", STEADY, ratios(variant, PLAIN), TARGETS.get(variant.name),
                           step_us=round(plain_us, 1), processes=self.args.processes,
                           processes_apart=round(max(alike) / min(alike) - 1, 4))  # fmt: skip
            if variant.floor in self.args.variants:
                over_floor = ratios(variant, VARIANTS[variant.floor])
                self.add_ratio(
                    f"{program.case}, {variant.name}", "step, recorded over bare CUPTI", over_floor, FLOOR_TARGET
                )
        self.write()

    def add_ratio(self, case: str, metric: str, values: list[float], target: float | None, **more: Any) -> None:
        middle = statistics.median(values)
        spread = fine_interval(values)
        met = None if target is None else middle <= target
        self.rows.append(
            result_file.row(case, metric, "ratio", round(middle, 4), spread=spread, samples=len(values),
                            baseline_value=1.0, target=target, met=met, **more)
        )  # fmt: skip
        judged = "" if met is None else f"  target {target} {'met' if met else 'MISSED'}"
        print(f"{case:44} {metric:36} {middle:.3f} {spread} {len(values)} rounds{judged}", flush=True)

    def start(self, program: Program) -> None:
        """Whole processes one after the other: the time until ten steps are over."""
        names = [variant for variant in self.variants if variant.name in self.args.start_variants or variant == PLAIN]
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
        result_file.write(path, "cost", self.rows, failures=self.failures)


def fine_interval(values: list[float]) -> list[float]:
    """The 95 % interval of the median, with the digits that a ratio near 1 needs."""
    return [round(bound / 100, 4) for bound in interval([value * 100 for value in values])]


def main() -> int:
    known = programs()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    several = {"type": lambda text: [part for part in text.split(";") if part]}
    parser.add_argument("--programs", default=list(known), **several, help="separated by semicolons; default: all")
    parser.add_argument("--variants", default=list(VARIANTS), **several, help="separated by semicolons; default: all")
    parser.add_argument("--bare", metavar="FILE", help="libbare_cupti.so; without, CUPTI alone is not measured")
    parser.add_argument("--processes", type=int, default=2, help="of each variant")
    parser.add_argument("--seconds", type=float, default=30, help="for the steady state of one program")
    parser.add_argument("--start-seconds", type=float, default=60, help="for the start of one program")
    parser.add_argument("--start-programs", default=["mnist_64"], **several, help="whose start is measured")
    parser.add_argument("--start-variants", default=["transfers", "full"], **several)
    parser.add_argument("--seconds-in-all", type=float, default=480, help="after these no program is begun")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try the harness itself out")
    parser.add_argument("--out", default="cost-results", help="the folder for results and logs")
    args = parser.parse_args()
    if args.bare is None:
        args.variants = [name for name in args.variants if not VARIANTS[name].bare]
    if unknown := {*args.programs, *args.start_programs} - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    until = time.monotonic() + args.seconds_in_all
    with tempfile.TemporaryDirectory(prefix="cost-", ignore_cleanup_errors=True) as scratch:
        harness = Harness(args, scratch)
        work = [(harness.steady, name) for name in args.programs] + [
            (harness.start, name) for name in args.start_programs
        ]
        for measure, name in work:
            if time.monotonic() > until:
                harness.failed(f"{name}: not begun, the time was over")
                continue
            measure(known[name])
    missed = any(row["met"] is False for row in harness.rows)
    return 1 if missed or harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
