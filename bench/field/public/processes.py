"""A public program that runs: it starts, waits for its turn, takes a window of steps, and ends with its children."""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import time
import uuid
from collections.abc import Container
from pathlib import Path
from typing import Any

MARK = "FIELD_RUN"  # a variable with which the processes of a run are found: launchers put theirs into new groups
KEPT_LINES = 40
LONGEST_TURN_S = 25.0  # more than field_steps.py needs for the longest warm-up and window, and to be late


class Failed(Exception):
    """The program ended, or did not come so far in time."""


@dataclasses.dataclass
class Window:
    """The steps of one run."""

    step_us: list[float]
    ended: str
    first_step_s: float
    workers: int
    warm_up_steps: int

    @property
    def median_us(self) -> float:
        return statistics.median(self.step_us)

    @property
    def mean_us(self) -> float:
        """The time of the window by its steps: what counts where steps come in bursts."""
        return statistics.fmean(self.step_us)

    def __str__(self) -> str:
        return (
            f"{self.median_us:.0f} us a step (median), {self.mean_us:.0f} us (mean), {len(self.step_us)} steps, "
            f"{self.ended}; {self.workers} workers, first step after {self.first_step_s} s"
        )

    def as_json(self) -> dict[str, Any]:
        ordered = sorted(self.step_us)
        return {
            "steps": len(ordered),
            "median_us": round(self.median_us, 2),
            "mean_us": round(self.mean_us, 2),
            "p10_us": round(ordered[len(ordered) // 10], 2),
            "p90_us": round(ordered[-1 - len(ordered) // 10], 2),
            "least_us": round(ordered[0], 2),
            "most_us": round(ordered[-1], 2),
            "steps_per_s": round(1e6 / self.mean_us, 3),
            "window_s": round(sum(ordered) / 1e6, 3),
            "first_step_s": self.first_step_s,
            "workers": self.workers,
            "warm_up_steps": self.warm_up_steps,
            "ended": self.ended,
            "step_us": [round(one, 1) for one in self.step_us[:1500]],
        }


class Running:
    """One run of a program. All that it prints goes into its log."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str], state: Path) -> None:
        """state: the path, without an ending, of the files through which it is told what to do."""
        state.parent.mkdir(parents=True, exist_ok=True)
        self.log = state.with_name(state.name + ".log")
        self._ready, self._go, self._out = (state.with_name(state.name + end) for end in (".ready", ".go", ".json"))
        for path in (self._ready, self._go, self._out):
            path.unlink(missing_ok=True)
        self._mark = f"{MARK}={uuid.uuid4().hex}"
        told = {
            MARK: self._mark.partition("=")[2],
            "FIELD_READY": str(self._ready),
            "FIELD_GO": str(self._go),
            "FIELD_OUT": str(self._out),
            "FIELD_LAUNCHED": str(time.time()),
        }
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder,
                env=environment | told, start_new_session=True,
            )  # fmt: skip

    def is_ready_now(self) -> bool:
        return self._ready.exists()

    def is_ready(self) -> bool:
        """Whether it waits for its turn. Raises Failed when it has ended."""
        if self._ready.exists():
            return True
        if (code := self._process.poll()) is not None:
            raise Failed(f"it ended with {code} before its first steps: {self.last_line()}")
        return False

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self._signal(signal.SIGSTOP)  # what was begun meanwhile

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def take_turn(self, *, patience: float = 1) -> Window:
        """Lets it take its window."""
        self._go.touch()
        self.resume()
        until = time.monotonic() + LONGEST_TURN_S * patience
        while not self._out.exists() and time.monotonic() < until and self._process.poll() is None:
            time.sleep(0.01)
        if not self._out.exists():
            code = self._process.poll()
            raise Failed(f"it ended with {code}" if code is not None else "it did not end its window in time")
        told = json.loads(self._out.read_text())
        times = told["times_ns"]
        if len(times) < 3:
            raise Failed(f"it took too few steps: {told['ended']}")
        steps = [(after - before) / 1e3 for before, after in zip(times, times[1:], strict=False)]
        return Window(steps, told["ended"], told["first_step_s"], told["workers"], told["warm_up_steps"])

    def wait(self, seconds: float) -> bool:
        """Whether it ends by itself."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """Ends it and what it began, at once."""
        for _ in range(20):
            if not self._signal(signal.SIGKILL) and self._process.poll() is not None:
                return
            try:
                self._process.wait(0.1)
            except subprocess.TimeoutExpired:
                pass

    def last_lines(self) -> list[str]:
        with self.log.open(errors="replace", newline="\n") as file:
            last = collections.deque((line.split("\r")[-1].rstrip()[:300] for line in file), KEPT_LINES)
        return list(last)

    def last_line(self) -> str:
        return next((line for line in reversed(self.last_lines()) if line.strip()), "(it said nothing)")

    def _signal(self, number: int) -> int:
        """Sends the signal to each process of the run, and says how many there are."""
        mark, sent = self._mark.encode(), 0
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/environ", "rb") as file:
                    if mark not in file.read().split(b"\0"):
                        continue
                os.kill(int(process), number)
                sent += 1
            except OSError:
                pass  # it has ended, or belongs to another user
        return sent


def wait_for(starting: dict[str, Running], seconds: float, may_lag: Container[str] = ()) -> dict[str, str]:
    """Waits until all programs are ready, and pauses each one then. Ends those that are not ready in time, and returns
    why. A program that may lag is not ended: it is paused when all others are ready."""
    failed = {}
    waiting = dict(starting)
    until = time.monotonic() + seconds
    while any(name not in may_lag for name in waiting):
        for name, one in list(waiting.items()):
            try:
                if one.is_ready():
                    one.pause()
                    del waiting[name]
                elif time.monotonic() > until and name not in may_lag:
                    raise Failed(f"it was not ready within {seconds:.0f} s: {one.last_line()}")
            except Failed as error:
                failed[name] = str(error)
                one.end()
                del waiting[name]
        time.sleep(0.02)
    for one in waiting.values():
        one.pause()
    return failed
