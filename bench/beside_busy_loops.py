#!/usr/bin/env python3
"""Runs tests of a program of GoogleTest again and again while busy loops take the processors, and counts how many fail.

    bench/beside_busy_loops.py build/asan/tests/record/record_tests 'Sessions.AmidCopies*' --times 1000 \\
        --out bench/results/beside-busy-loops-cpu.json

Each time is a process of its own: a test that runs a thousand times in one process has warm caches and one address
space. A time that does not end within --limit seconds fails.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import result_file


def be_busy() -> None:
    while True:
        pass


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [multiprocessing.Process(target=be_busy, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def failure_of(command: list[str], limit_s: float) -> str | None:
    """Why the tests did not pass; None if they did. Tests that the filter does not find have not passed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return f"did not end within {limit_s:g} s"
    if done.returncode != 0:
        return f"exit {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
    return None if "[  PASSED  ] 0 tests" not in done.stdout else "no test has this name"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("filter", help="which tests, with GoogleTest's wildcards")
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--loops", type=int, default=2, help="busy loops beside the tests (default: 2)")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one time may take (default: 300)")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()

    program = arguments.program.resolve()
    command = [str(program), f"--gtest_filter={arguments.filter}", "--gtest_brief=1"]
    failures: list[dict[str, object]] = []
    began = time.monotonic()
    with busy_loops(arguments.loops):
        for number in range(1, arguments.times + 1):
            if failure := failure_of(command, arguments.limit):
                failures.append({"time": number, "failure": failure})
            if number % 50 == 0 or number == arguments.times:
                elapsed_s = time.monotonic() - began
                print(f"{number} of {arguments.times}, {len(failures)} failed, {elapsed_s:.0f} s", flush=True)
    row = result_file.row(
        f"{os.path.basename(program.parents[2])}: {arguments.filter} beside {arguments.loops} busy loops",
        "times that failed",
        "",
        len(failures),
        samples=arguments.times,
        target=0,
        met=not failures,
        seconds=round(time.monotonic() - began),
        processors=os.cpu_count(),
        failures=failures,
    )
    if arguments.out:
        result_file.write(str(arguments.out), "beside-busy-loops", [row])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
