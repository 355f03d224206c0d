"""A running program that waits for its turn: it has loaded and warmed up, and runs a block of steps when told to."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import threading
import time
from typing import Any

MARK = "field: "  # as in programs/_clock.py
WAKING_S = 0.005  # until every thread has run, and is where it shall be
_DRAWN = random.Random(1)


def surroundings(folder: str) -> dict[str, str]:
    """The environment of a program whose own files go into that folder."""
    settings = {"TMPDIR": folder, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    # One program among many that start at the same time.
    settings["TORCHINDUCTOR_COMPILE_THREADS"] = "4"
    return os.environ | settings


def _bind(task: int, cores: set[int]) -> None:
    try:
        os.sched_setaffinity(task, cores)
    except ProcessLookupError:
        pass  # it has ended


class Died(RuntimeError):
    """The program ended, or said nothing in time."""


class Live:
    """One process of a program. Everything that it prints goes into its log."""

    def __init__(self, command: list[str], log: str, environment: dict[str, str], folder: str) -> None:
        """folder: in which it runs."""
        self.log = log
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._file = open(log, "w")  # noqa: SIM115
        # A group of its own: its loader's workers end with it.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._file, text=True, errors="replace",
            env=environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
        self._cores: set[int] = set()  # that it may use; known from its first pause on
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def answer(self, seconds: float) -> dict[str, Any]:
        """What it says next. Raises Died when it ends before, or says nothing for so long."""
        try:
            said = self._answers.get(timeout=max(seconds, 0))
        except queue.Empty:
            raise Died(f"it said nothing for {seconds:.0f} s: {self._last_words()}") from None
        if said is None:
            raise Died(f"it ended: {self._last_words()}")
        return said

    def send(self, line: str) -> None:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise Died(f"it ended: {self._last_words()}") from None

    def block(self, lead: int, steps: int, seconds: float, run: str = "") -> float:
        """Microseconds a step, over so many steps after a lead. run: where all of them are recorded, without spaces."""
        self.send(f"{lead} {steps} {run}".rstrip())
        return float(self.answer(seconds)["step_us"])

    def pause(self) -> None:
        """Stops all of its threads and processes, which would take time from others while it waits."""
        if not self._cores:
            self._cores = os.sched_getaffinity(self._process.pid)
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Lets it go on. Each of its threads wakes up on a core drawn anew.

        A thread stays on its core, and some cores of a shared machine are slower than others: a process that had the
        same cores in all of its blocks would differ from one like it. Two threads get the same core only if there are
        more threads than cores: those of a parallel loop would wait for one another until the system moved one.
        """
        cores = sorted(self._cores)
        drawn = _DRAWN.sample(cores, len(cores))
        for number, task in enumerate(self._tasks()):
            _bind(task, {drawn[number % len(drawn)]})
        self._signal(signal.SIGCONT)
        time.sleep(WAKING_S)
        for task in self._tasks():
            _bind(task, set(cores))

    def wait(self, seconds: float) -> int:
        """Lets it end by itself. Its exit code."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Died(f"it did not end within {seconds:.0f} s: {self._last_words()}") from None

    def end(self) -> None:
        """Ends it and what it started, at once. A second call does nothing."""
        if self._file.closed:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join(5)
        for stream in (self._process.stdin, self._process.stdout, self._file):
            try:
                stream.close()
            except (OSError, ValueError):
                pass

    def _tasks(self) -> list[int]:
        """The threads of its processes, which are in a session of their own. Of each process the oldest first, so that
        those of a parallel loop, which start together, get cores of their own even if there are more threads."""
        tasks = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getsid(int(process)) == self._process.pid:
                    tasks += sorted(map(int, os.listdir(f"/proc/{process}/task")))
            except OSError:
                pass  # it has ended
        return tasks

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    def _read(self) -> None:
        for line in self._process.stdout:
            self._file.write(line)
            self._file.flush()
            if line.startswith(MARK):
                self._answers.put(json.loads(line[len(MARK) :]))
        self._answers.put(None)

    def _last_words(self) -> str:
        time.sleep(0.2)  # what it said last is on its way
        with open(self.log, errors="replace") as file:
            lines = [line.strip() for line in file.read().splitlines() if line.strip()]
        return lines[-1][:300] if lines else "(it said nothing)"
