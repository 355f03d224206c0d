#!/usr/bin/env python3
"""Runs random programs, each with plain PyTorch and with Turnpike, and writes what it finds as lines of JSON.

Started by run.py, which watches it: before each run it says what it runs, so that a crash or a hang has a program.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import observe  # noqa: E402
import programs  # noqa: E402

SHRINK_SECONDS = 20.0
SHRUNK_PER_KEY = 2  # by all jobs together
ISOLATED_TIMEOUT_S = 60.0
UNUSABLE = 7  # exit status: CUDA does not work in this process any more


def say(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


class Runner:
    """Runs programs in this process, or each in one of its own."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._ways: dict[str, Any] = {}

    def run(self, text: str, way_name: str, is_isolated: bool) -> dict[str, Any]:
        say("run", way=way_name)
        return self._isolated(text, way_name) if is_isolated else self.run_here(text, way_name)

    def run_here(self, text: str, way_name: str) -> dict[str, Any]:
        """What the program let be seen."""
        import prelude
        import ways
        from stage import Stage

        if way_name not in self._ways:
            self._ways[way_name] = ways.of_name(way_name)
        stage, log = Stage(self.device), observe.Log(way_name == "tp")
        prelude.seed_all(0)
        before = stage.allocated() if self._is_warm() else None
        names = {**vars(prelude), "way": self._ways[way_name], "log": log, "stage": stage, "dev": self.device}
        try:
            exec(compile(text, "program", "exec"), names)
        except (Exception, KeyboardInterrupt) as error:
            self._note(log, text, error)
        names.clear()
        gc.collect()
        if before is not None:
            log.at_most("program/MiB kept", stage.kept_mib(before))
        stage.close()
        return log.as_data()

    def _is_warm(self) -> bool:
        import torch

        return torch.cuda.is_initialized()

    def _note(self, log: observe.Log, text: str, error: BaseException) -> None:
        lines = [
            frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "program"
        ]
        label = programs.operation_at(text, lines[0] if lines else 0)
        log.seen.append([f"{label}/end", {"raised": observe.kind_of(error), "text": str(error)[:200]}])

    def _isolated(self, text: str, way_name: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            program, out = os.path.join(folder, "program.py"), os.path.join(folder, "log.json")
            with open(program, "w") as file:
                file.write(text)
            command = [sys.executable, __file__, "--once", program, way_name, out, "--device", self.device]
            environment = {**os.environ, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
            try:
                done = subprocess.run(command, env=environment, capture_output=True, timeout=ISOLATED_TIMEOUT_S)
                status: Any = done.returncode
            except subprocess.TimeoutExpired:
                status = "hung"
            data = {"seen": [], "durations": []}
            if os.path.exists(out):
                with open(out) as file:
                    data = json.load(file)
            data["seen"].append([programs.operation_at(text, len(text.splitlines())), {"status": status}])
            return data

    def is_usable(self) -> bool:
        """Whether CUDA still works, captures included: PyTorch does not recover from one that failed."""
        import torch
        from stage import Stage

        if self.device == "cpu" or not torch.cuda.is_initialized():
            return True
        try:
            torch.cuda.synchronize()
            torch.rand(10, device="cuda")
            made = torch.ones(10, device="cuda")
            replay, result = Stage(self.device).captured(lambda: made + 1)
            replay()
            return bool(result.sum() == 20)
        except RuntimeError:
            return False


class Judge:
    """Compares the two runs of a program, and makes those that differ smaller."""

    def __init__(self, runner: Runner, claims: str | None, until: float) -> None:
        self._runner = runner
        self._until = until
        self._claims = claims or tempfile.mkdtemp()

    def judge(self, program: programs.Program) -> None:
        text, is_isolated = program.text, program.is_isolated
        started = time.monotonic()
        plain = self._runner.run(text, "plain", is_isolated)
        ours = self._runner.run(text, "tp", is_isolated)
        found = observe.differences(plain, ours)
        unsteady: list[str] = []
        if found and self._runner.is_usable():
            found, unsteady = self._confirmed(text, is_isolated, plain, found)
        failures = [{"key": difference.key, "label": difference.label, "text": str(difference)} for difference in found]
        say(
            "done", seed=program.seed, failures=failures, unsteady=unsteady, seconds=time.monotonic() - started,
            blocks=[[block.operation, block.aspect, block.call, block.label] for block in program.blocks],
            statements=len(program.text.splitlines()),
        )  # fmt: skip
        if not failures:
            return
        for failure in {failure["key"]: failure for failure in failures}.values():
            if self._is_claimed(failure["key"]):
                self._report(program, failure)
        if not self._runner.is_usable():
            sys.exit(UNUSABLE)

    def _is_claimed(self, key: str) -> bool:
        """Whether this job is to make a program smaller for this kind of difference: not all jobs the same."""
        for number in range(SHRUNK_PER_KEY):
            with contextlib.suppress(FileExistsError):
                name = re.sub(r"[^A-Za-z0-9]+", "-", key)[:100]
                os.close(os.open(os.path.join(self._claims, f"{name}.{number}"), os.O_CREAT | os.O_EXCL))
                return True
        return False

    def _confirmed(
        self, text: str, is_isolated: bool, plain: dict[str, Any], found: list[observe.Difference]
    ) -> tuple[list[observe.Difference], list[str]]:
        """Without what plain PyTorch itself does not do the same twice, and durations and memory that were chance."""
        again = self._runner.run(text, "plain", is_isolated)
        varying = {difference.label for difference in observe.differences(plain, again)}
        kept = [difference for difference in found if difference.label not in varying]
        chancy = ("duration_ms", "more")
        if any(difference.path in chancy for difference in kept):
            for _ in range(2):
                ours = observe.differences(plain, self._runner.run(text, "tp", is_isolated))
                again_so = {(difference.label, difference.path) for difference in ours}
                kept = [each for each in kept if each.path not in chancy or (each.label, each.path) in again_so]
        return kept, [difference.key for difference in found if difference.label in varying]

    def _report(self, program: programs.Program, failure: dict[str, str]) -> None:
        """Says a program that fails, made smaller where this process can still run one."""
        key, text = failure["key"], program.text
        until = min(self._until, time.monotonic() + SHRINK_SECONDS) if self._runner.is_usable() else 0.0

        def fails(candidate: str) -> bool:
            if time.monotonic() > until:
                raise TimeoutError
            return key in self._keys(candidate, program.is_isolated)

        say("program", key=key, seed=program.seed, difference=failure["text"], script=programs.smaller(text, fails))

    def _keys(self, text: str, is_isolated: bool) -> set[str]:
        plain = self._runner.run(text, "plain", is_isolated)
        if any(label.endswith("/end") for label, _ in plain["seen"]):
            return set()  # it is no program any more
        found = {difference.key for difference in observe.differences(plain, self._runner.run(text, "tp", is_isolated))}
        if not self._runner.is_usable():
            raise TimeoutError  # nothing comes after this one
        return found


def once(path: str, way_name: str, out: str, device: str) -> None:
    """One program in this process, whose end belongs to it."""
    with open(path) as file:
        text = file.read()
    data = None
    try:
        data = Runner(device).run_here(text, way_name)
    finally:
        with open(out, "w") as file:
            json.dump(data or {"seen": [], "durations": []}, file)


def warm_up(device: str, fraction: float) -> None:
    """What PyTorch allocates once for a process is there before anything is counted."""
    import torch

    if device == "cpu":
        torch.set_num_threads(2)
        return
    torch.cuda.set_per_process_memory_fraction(fraction)
    made = torch.ones(64, 64, device="cuda", requires_grad=True)
    torch.nn.functional.linear(made, made).sum().backward()
    torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stride", type=int, default=1, help="the seeds are SEED, SEED + STRIDE, ...")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, default=1 << 60)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--fraction", type=float, default=0.9)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--replay", nargs="*", default=[], help="programs to run first")
    parser.add_argument("--claims", help="a folder where jobs note which differences they make smaller")
    parser.add_argument("--once", nargs=3)
    arguments = parser.parse_args()
    if arguments.once:
        once(*arguments.once, arguments.device)
        return
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    until = time.monotonic() + arguments.seconds
    import turnpike  # noqa: F401, so that its absence is no program's fault

    warm_up(arguments.device, arguments.fraction)
    say("ready")
    judge = Judge(Runner(arguments.device), arguments.claims, until)
    for path in arguments.replay:
        with open(path) as file:
            text = file.read()
        say("start", seed=path, text=text)
        label = programs.operation_at(text, 1 << 20)
        judge.judge(programs.Program(text, [programs.Block(label.split("/")[0], "kept", "", 0)], path))
    seed = arguments.seed
    for _ in range(arguments.programs):
        if time.monotonic() > until:
            break
        program = programs.make(seed, arguments.only)
        say("start", seed=seed, text=program.text)
        judge.judge(program)
        seed += arguments.stride
    say("end")


if __name__ == "__main__":
    main()
