#!/usr/bin/env python3
"""The differential tester: random programs over the move calls, each run with plain PyTorch and with Turnpike.

    tests/gpu/differential/run.py [--seconds 600] [--seed N] [--jobs 8] [--out RESULTS.json] [--keep FOLDER]
    tests/gpu/differential/run.py --replay PROGRAM.py...
    tests/gpu/differential/run.py --only capture --only fetch --seconds 60

Everything that a program lets be seen must be equal. Jobs are processes that share the GPU, each with seeds of its own;
one that crashes or hangs is replaced. Every kind of difference is printed with a program that shows it, made smaller,
and goes to FOLDER; the programs in kept/ beside this file run first. Exits 1 when anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "bench")]

import programs  # noqa: E402
import result_file  # noqa: E402
import worker  # noqa: E402
from operations import all_operations  # noqa: E402
from tally import Tally, rows_of, state_of  # noqa: E402

KEPT = os.path.join(HERE, "kept")
PATIENCE_S = 75.0  # longer than an isolated program may take
END_S = PATIENCE_S + 10  # what a job may take beyond its time, for the program that it is at


class Job:
    """One process after another that runs programs, until the time is over."""

    def __init__(self, number: int, options: argparse.Namespace, tally: Tally, lock: threading.Lock) -> None:
        self._number, self._options, self._tally, self._lock = number, options, tally, lock
        self._next_seed = options.seed + number
        self._program: dict[str, Any] = {"seed": None, "text": ""}
        self._way = ""
        self._is_ready = False
        self.is_replaying = number == 0

    def run(self, until: float) -> None:
        while (left := until - time.monotonic()) > 1:
            if not self._one_process(left, until + END_S):
                return

    def _one_process(self, seconds: float, deadline: float) -> bool:
        """Whether another one is to go on."""
        command = [sys.executable, os.path.join(HERE, "worker.py"), "--seconds", f"{seconds:.0f}"]
        command += ["--seed", str(self._next_seed), "--stride", str(self._options.jobs)]
        command += ["--device", self._options.device, "--fraction", f"{0.9 / self._options.jobs:.3f}"]
        command += ["--claims", self._options.claims]
        command += [word for name in self._options.only for word in ("--only", name)]
        if self.is_replaying and self._options.replay:
            command += ["--replay", *self._options.replay]
            if self._options.replays_only:
                command += ["--programs", "0"]
        self.is_replaying = False
        environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
            ended = self._follow(process, deadline)
            status = process.wait()
            errors.seek(0)
            tail = errors.read()[-6000:]
        if ended == "end":
            return False
        if not self._is_ready:
            print(f"job {self._number} could not begin ({status}):\n{tail[-2000:]}", flush=True)
            return False
        if ended == "late":
            print(f"job {self._number} was stopped in seed {self._program['seed']}: the time is over", flush=True)
            return False
        self._lost(ended, status, tail)
        return True

    def _follow(self, process: subprocess.Popen[str], deadline: float) -> str:
        """Takes what the process says: "end", "died", or "hung", when it says nothing any more and was killed."""
        lines: queue.Queue[str | None] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=min(PATIENCE_S, max(1.0, deadline - time.monotonic())))
            except queue.Empty:
                process.send_signal(signal.SIGUSR1)  # where it stands
                time.sleep(1)
                process.kill()
                return "hung" if time.monotonic() < deadline else "late"
            if line is None:
                return "died"
            with contextlib.suppress(json.JSONDecodeError):
                event = json.loads(line)
                if not isinstance(event, dict):
                    continue
                self._take(event)
                if event["event"] == "end":
                    return "end"

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        self._is_ready |= kind == "ready"
        if kind == "start":
            self._program = event
            if isinstance(event["seed"], int):
                self._next_seed = event["seed"] + self._options.jobs
        elif kind == "run":
            self._way = event["way"]
        with self._lock:
            if kind == "done":
                self._tally.done(event)
            elif kind == "program":
                self._tally.program(event["key"], event["seed"], event["difference"], event["script"])

    def _lost(self, ended: str, status: int, tail: str) -> None:
        """A process that ended before its time: by a program, or because one left CUDA unusable, which it has said."""
        seed, text = self._program["seed"], self._program["text"]
        with self._lock:
            self._tally.restarts[ended if status != worker.UNUSABLE else "unusable"] += 1
            if status == worker.UNUSABLE:
                return
            lines = [int(number) for number in re.findall(r'File "program", line (\d+)', tail)]
            label = programs.operation_at(text, lines[0] if lines else len(text.splitlines()))
            if self._way == "plain":
                print(f"job {self._number}: plain PyTorch {ended} ({status}) in seed {seed}\n{tail[-800:]}", flush=True)
                self._tally.unsteady[f"{label.split('/')[0]}: plain {ended}"] += 1
                return
            how = "hangs" if ended == "hung" else f"dies with {_name_of(status)}"
            last = tail.strip().splitlines()[-1:] or [""]
            self._tally.failed(f"{label.split('/')[0]}: {how}", seed, last[0][:300], text)


def _name_of(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else str(status)


def run(options: argparse.Namespace) -> Tally:
    """Runs the jobs for the time given."""
    tally, lock = Tally(options.keep), threading.Lock()
    until = time.monotonic() + options.seconds
    threads = [
        threading.Thread(target=Job(number, options, tally, lock).run, args=(until,)) for number in range(options.jobs)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(15, max(1, options.seconds / 10)))
        with lock:
            print(state_of(tally), flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: a dry run of the tester")
    parser.add_argument("--only", action="append", default=[], choices=sorted(all_operations()), metavar="OPERATION")
    parser.add_argument("--replay", nargs="+", default=[], metavar="PROGRAM", help="only these programs")
    parser.add_argument("--keep", metavar="FOLDER", help="where programs that differ are written")
    parser.add_argument("--out", help="where to write the result file")
    options = parser.parse_args()
    options.replays_only = bool(options.replay)
    if options.replays_only:
        options.jobs = 1
    elif not options.only and os.path.isdir(KEPT):
        options.replay = sorted(os.path.join(KEPT, name) for name in os.listdir(KEPT) if name.endswith(".py"))
    print(f"seed {options.seed}, {options.jobs} jobs, {options.seconds:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as options.claims:
        tally = run(options)
    print("\n" + state_of(tally))
    for found in sorted(tally.found.values(), key=lambda found: -found.count):
        faults = " or ".join(found.faults) or "not known"
        print(f"{found.count:6}  {found.key}  (fault {faults})  {found.example[:160]}")
    for key, count in tally.unsteady.most_common(10):
        print(f"{count:6}  left out, plain PyTorch is not steady: {key}")
    if options.out:
        result_file.write(
            options.out, "move-differential", rows_of(tally), seed=options.seed, seconds=options.seconds,
            jobs=options.jobs, programs=tally.programs, same=tally.same_programs, statements=tally.statements,
            operations=dict(tally.operations), unsteady=dict(tally.unsteady), restarts=dict(tally.restarts),
        )  # fmt: skip
    return 1 if tally.found or not tally.programs else 0


if __name__ == "__main__":
    sys.exit(main())
