"""What the programs share: their options, and a clock that times blocks of steps.

A program makes one Clock right before its loop, calls `step()` at the end of each step and `finish()` after the loop.
The clock drains the GPU at the two ends of a block and nowhere else, so it adds no wait to a step.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

ENDLESS = 10**9
# What the harness reads among the program's own output.
MARK = "field: "


def arguments(doc: str, fixes: Iterable[str], *, steps: int = 100) -> argparse.Namespace:
    """The options that each program has. Seeds the generators."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cuda", "cpu"])
    parser.add_argument("--fix", action="append", default=[], choices=sorted(fixes), help="what a report advises")
    parser.add_argument("--num-workers", type=int, default=4, help="how many, where a fix brings in workers")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before the first that is timed")
    parser.add_argument("--wait", action="store_true", help="start the loop when a line arrives on standard input")
    parser.add_argument(
        "--turns", action="store_true", help="run a block for each 'LEAD STEPS [RUN]' on standard input"
    )
    args = parser.parse_args()
    args.small = args.device == "cpu"
    if args.turns:
        args.steps = ENDLESS
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    return args


class Clock:
    """Times the steps of one loop."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._cuda = args.device == "cuda"
        self._turns = args.turns
        self._has_harness = args.turns or args.wait
        self._warm_up = min(args.warm_up, max(args.steps // 2, 1))
        # Timed in three blocks, of which the median counts; a recorded run is one block.
        self._block = ENDLESS if args.wait else max((args.steps - self._warm_up) // 3, 1)
        self._us: list[float] = []
        self._steps = 0
        self._loss: Any = None
        self._ends = self._warm_up  # the step after which the clock has something to do
        self._starts = 0
        self._started = 0.0
        self._run: str | None = None  # to record the block into
        # Only the steps of the warm-up are recorded.
        self._recorded_first = os.environ.get("RECORDED_FIRST")
        if self._recorded_first:
            import turnpike

            turnpike.start(self._recorded_first)
        if args.wait:
            self._say(ready=True)
            sys.stdin.readline()

    def step(self, loss: Any = None) -> None:
        """A step has ended; loss: what it gave, a tensor or a number."""
        self._steps += 1
        if loss is not None:
            self._loss = loss.detach() if isinstance(loss, torch.Tensor) else loss
        if self._steps != self._ends:
            return
        if self._recorded_first and self._steps == self._warm_up:
            import turnpike

            turnpike.stop()
        now = self._drained()
        if self._turns:
            self._take_turns(now)
            return
        if self._steps > self._warm_up:
            self._us.append((now - self._started) / self._block * 1e6)
        self._starts, self._started, self._ends = self._steps, now, self._steps + self._block

    def finish(self, loss: float | None = None) -> None:
        """The loop has ended. Prints what was measured, as the last line. loss: where no step gave one."""
        now = self._drained()
        self._loss = self._loss if loss is None else loss
        if not self._us and self._steps > self._starts:
            self._us.append((now - self._started) / (self._steps - self._starts) * 1e6)
        self._say(steps=self._steps, step_us=statistics.median(self._us) if self._us else None, loss=self._value())

    def _take_turns(self, now: float) -> None:
        if self._steps == self._warm_up:
            self._say(ready=True, loss=self._value())
        elif self._started:
            if self._run:
                import turnpike

                turnpike.stop()
            self._say(step_us=(now - self._started) / (self._steps - self._starts) * 1e6, loss=self._value())
            self._started = 0.0
        else:  # the lead of a block is over
            self._starts, self._started, self._ends = self._steps, self._drained(), self._steps + self._block
            return
        words = sys.stdin.readline().split()
        if not words:  # nobody wants another block
            sys.stdout.flush()
            os._exit(0)
        lead, self._block = int(words[0]), int(words[1])
        self._run = words[2] if len(words) > 2 else None
        if self._run:  # the lead, too: the first steps of a recording are slower
            import turnpike

            turnpike.start(self._run)
        self._ends = self._steps + lead

    def _drained(self) -> float:
        if self._cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def _value(self) -> float | None:
        return None if self._loss is None else float(self._loss)

    def _say(self, **what: Any) -> None:
        print(f"\n{MARK}{json.dumps(what)}" if self._has_harness else json.dumps(what), flush=True)
