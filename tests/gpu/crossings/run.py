#!/usr/bin/env python3
"""The crossings suite: runs each program of programs/ under `turnpike record`, compares the report with what must be.

    tests/gpu/crossings/run.py [--only NAME]... [--learn] [--out RESULTS.json]

Each program runs three times: plainly, recorded, and once more for an independent count of its transfers
(expectations.py says which). Its exit code and output must be the same recorded as plain, its losses none, its
transfers those that stand in it, and its totals those of the independent count. Exits 1 when anything differs.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import glob
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTERS = os.path.join(HERE, "..", "independent_count")
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "bench")]

import expectations as ex  # noqa: E402
import result_file  # noqa: E402


@dataclasses.dataclass
class Outcome:
    program: ex.Program
    problems: list[str] = dataclasses.field(default_factory=list)
    skipped: str | None = None
    report: dict[str, Any] | None = None
    counted: dict[str, tuple[int, int]] | None = None
    seconds: float = 0.0


class Suite:
    """Runs programs; each works in a folder of its own, so any number may run at once."""

    def __init__(self, turnpike: str, folder: str, timeout_s: float, gpu_count: int) -> None:
        self.turnpike = turnpike
        self.folder = folder
        self.timeout_s = timeout_s
        self.gpu_count = gpu_count

    def run(self, path: str) -> Outcome:
        program = ex.read_program(path)
        outcome = Outcome(program, skipped=self._lacks(program))
        if outcome.skipped:
            return outcome
        started = time.monotonic()
        try:
            self._run(outcome)
        except subprocess.TimeoutExpired as error:
            outcome.problems.append(f"not finished after {error.timeout:.0f} s: {' '.join(map(str, error.cmd))}")
        except Exception as error:  # one program's failure must not hide the results of the others
            outcome.problems.append(f"{type(error).__name__}: {error}")
        outcome.seconds = time.monotonic() - started
        return outcome

    def _lacks(self, program: ex.Program) -> str | None:
        gpus = int(program.suite.get("gpus", "1"))
        if gpus > self.gpu_count:
            return f"needs {gpus} GPUs"
        for need in filter(None, program.suite.get("needs", "").split(",")):
            if shutil.which(need) is None and importlib.util.find_spec(need) is None:
                return f"needs {need}"
        return None

    def _run(self, outcome: Outcome) -> None:
        program = outcome.program
        folder = os.path.join(self.folder, program.name)
        os.makedirs(folder)
        command = self._command(program, folder)

        plain = self._execute(command, folder)
        trace = os.path.join(folder, "run.tpk")
        recorded = self._execute([self.turnpike, "record", "-o", trace, "--quiet", "--", *command], folder)
        if plain.returncode != 0:
            outcome.problems.append(f"exit code {plain.returncode} without Turnpike: {_last_line(plain.stderr)}")
        if recorded.returncode != plain.returncode:
            said = _last_line(recorded.stderr)
            outcome.problems.append(f"exit code {plain.returncode} plain, {recorded.returncode} recorded: {said}")
        if recorded.stdout != plain.stdout:
            outcome.problems.append("the output differs between plain and recorded")

        reported = self._execute([self.turnpike, "report", trace, "--json"], folder)
        if reported.returncode != 0:
            outcome.problems.append(f"turnpike report: exit code {reported.returncode}: {_last_line(reported.stderr)}")
            return
        report = outcome.report = json.loads(reported.stdout)
        outcome.problems += ex.compare(program, report)
        losses = {name: count for name, count in report["losses"].items() if name not in program.allowed_losses}
        if losses:
            outcome.problems.append(f"losses: {losses}")
        processes = int(program.suite.get("processes", "1"))
        if report["source"]["processes"] != processes:
            outcome.problems.append(f"processes: expected {processes}, found {report['source']['processes']}")
        outcome.counted = self._count(program, command, folder)
        outcome.problems += ex.compare_totals(report, outcome.counted, program.count)

    def _command(self, program: ex.Program, folder: str) -> list[str]:
        if program.path.endswith(".py"):
            launcher = program.suite.get("launch")
            if launcher == "torchrun":
                torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
                return [*torchrun, program.path]
            return [sys.executable, program.path]
        binary = os.path.join(folder, program.name)
        runtime = program.suite.get("cudart", "shared")
        library_folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc")))), "lib64")
        build = ["nvcc", "-O1", "-g", "-cudart", runtime, "-o", binary, program.path]
        build += ["-Xlinker", f"-rpath={library_folder}"]
        built = subprocess.run(build, capture_output=True, text=True, timeout=self.timeout_s)
        if built.returncode != 0:
            raise RuntimeError(f"nvcc failed: {built.stderr.strip()}")
        return [binary]

    def _count(self, program: ex.Program, command: list[str], folder: str) -> dict[str, tuple[int, int]] | None:
        if program.count == "none":
            return None
        if program.count == "truth":
            return program.expected_totals()
        out = os.path.join(folder, "count.json")
        env = dict(os.environ)
        if program.count == "kineto":
            command = [sys.executable, os.path.join(COUNTERS, "kineto_count.py"), out, *command[1:]]
        elif program.count == "interpose":
            library = os.path.join(folder, "interpose.so")
            source = os.path.join(COUNTERS, "interpose.c")
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            env.update(LD_PRELOAD=library, INTERPOSE_OUT=out)
        else:
            raise ex.ProgramError(f"{program.name}: unknown count={program.count}")
        counted = self._execute(command, folder, env)
        if not os.path.exists(out):
            raise RuntimeError(f"the independent count failed: {_last_line(counted.stderr)}")
        with open(out) as file:
            return {direction: tuple(pair) for direction, pair in json.load(file).items()}

    def _execute(self, command: list[str], folder: str, env: dict[str, str] | None = None):
        return subprocess.run(
            command,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            stdin=subprocess.DEVNULL,
        )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "(it said nothing)"


def show_learned(outcome: Outcome) -> None:
    """Prints what was observed, in the words of expectations, beside the independent count."""
    print(f"\n== {outcome.program.name}")
    for problem in outcome.problems:
        print(f"  ! {problem}")
    if outcome.report:
        for row in outcome.report["sites"] + outcome.report["sync_sites"]:
            print(f"  observed {ex.describe(row, outcome.program)}")
            if row["file"] is None or not row["file"].endswith(os.path.basename(outcome.program.path)):
                print(f"           stack {' < '.join(row['stack'][:6])}")
    if outcome.counted:
        counts = ", ".join(f"{name} {pair[0]} of {pair[1]}" for name, pair in outcome.counted.items() if pair[0])
        print(f"  {outcome.program.count} counted: {counts or 'nothing'}")


def show(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        state = f"skipped: {outcome.skipped}" if outcome.skipped else "ok" if not outcome.problems else "WRONG"
        expected = len(outcome.program.expectations)
        print(f"{outcome.program.name:32} {expected:3} expectations  {outcome.seconds:6.1f} s  {state}")
        for problem in outcome.problems:
            print(f"    {problem}")


def result_row(outcome: Outcome) -> dict[str, Any]:
    reported = sum(total["count"] for total in outcome.report["totals"].values()) if outcome.report else None
    counted = sum(pair[0] for pair in outcome.counted.values()) if outcome.counted else None
    return result_file.row(
        outcome.program.name,
        "transfers reported",
        "count",
        reported,
        baseline={"kineto": "torch.profiler", "interpose": "interposed libcudart", "truth": "the program's own"}.get(
            outcome.program.count
        ),
        baseline_value=counted,
        target=counted,
        met=None if outcome.skipped else not outcome.problems,
        expectations=len(outcome.program.expectations),
        problems=outcome.problems,
        skipped=outcome.skipped,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turnpike", default="turnpike", help="the command to test (default: the one on PATH)")
    parser.add_argument("--out", help="write a result file here")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="run this program alone; may be repeated"
    )
    parser.add_argument("--learn", action="store_true", help="print what was observed next to the independent count")
    parser.add_argument("--jobs", type=int, default=8, help="programs at once")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run of one program")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the traces here")
    args = parser.parse_args()

    turnpike = shutil.which(args.turnpike)
    if turnpike is None:
        parser.error(f"no command {args.turnpike}: install Turnpike or say --turnpike PATH")
    paths = sorted(
        glob.glob(os.path.join(HERE, "programs", "*.py")) + glob.glob(os.path.join(HERE, "programs", "*.cpp"))
    )
    paths = [path for path in paths if not os.path.basename(path).startswith("_")]
    if args.only:
        paths = [path for path in paths if os.path.splitext(os.path.basename(path))[0] in args.only]
    if not paths:
        parser.error("no such program")
    gpu_count = len(result_file.gpu_names())
    if gpu_count == 0:
        parser.error("nvidia-smi shows no GPU: this suite needs one")

    with tempfile.TemporaryDirectory(prefix="crossings-") as temporary:
        suite = Suite(turnpike, args.keep or temporary, args.timeout, gpu_count)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            outcomes = list(pool.map(suite.run, paths))

    if args.learn:
        for outcome in outcomes:
            show_learned(outcome)
        print()
    show(outcomes)
    if args.out:
        result_file.write(args.out, "crossings", [result_row(outcome) for outcome in outcomes])
    ran = [outcome for outcome in outcomes if not outcome.skipped]
    wrong = [outcome for outcome in ran if outcome.problems]
    print(f"{len(ran) - len(wrong)} of {len(ran)} programs as expected, {len(outcomes) - len(ran)} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
