"""bench pin: page-locking memory that exists, and what it takes of the host's memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from turnpike._bench.figures import Target
from turnpike._bench.machine import GIB, MIB, Machine
from turnpike._bench.resident import MODES
from turnpike._bench.timing import Case, Planned, Way, WrongResult

PIN_MEMORY, REGISTER, TURNPIKE = "pin_memory()", "cudaHostRegister", "Turnpike pinned"
AT_MOST_MS = 70


def plan(quick: bool, **_: Any) -> list[Planned]:
    written = Planned("1 GiB that was written", partial(page_lock, is_touched=True), 2)
    if quick:
        return [written]
    untouched = Planned("1 GiB that nobody touched", partial(page_lock, is_touched=False), 2)
    return [written, untouched, Planned("host memory of 1 GiB", host_memory)]


def page_lock(m: Machine, is_touched: bool) -> Case:
    """Every turn has a tensor of its own: what was locked once is quicker the second time."""
    torch = m.torch
    size = m.sized(GIB)
    held: list[Any] = [None]
    wanted = m.pattern(size)

    def prepare() -> None:
        held[0] = None
        m.release_pinned_memory()
        held[0] = wanted.clone() if is_touched else torch.empty(size // 4, dtype=torch.int32)

    def check(locked: Any) -> None:
        if not m.is_pinned(locked):
            raise WrongResult("the memory is not page-locked")
        if is_touched:
            m.same(locked, wanted, "the page-locked tensor")

    def finish_with(undo: Callable[[Any], None]) -> Callable[[Any], None]:
        def finish(locked: Any) -> None:
            undo(locked)
            held[0] = None

        return finish

    def register() -> Any:
        m.register(held[0])
        return held[0]

    def pin_in_place() -> Any:
        m.tp.pin_(held[0])
        return held[0]

    ways = [
        Way(PIN_MEMORY, "pytorch", lambda: m.pin(held[0]), check, prepare, finish=finish_with(lambda _: None)),
        Way(REGISTER, "best", register, check, prepare, finish=finish_with(m.unregister)),
        Way(TURNPIKE, "turnpike", pin_in_place, check, prepare, finish=finish_with(m.tp.unpin_)),
    ]
    target = Target(TURNPIKE, "value <=", AT_MOST_MS, f"at most {AT_MOST_MS} ms for 1 GiB")
    name = "1 GiB that was written" if is_touched else "1 GiB that nobody touched"
    return Case(name, "ms", 1, ways, PIN_MEMORY, targets=[target] if is_touched else [])


def host_memory(m: Machine) -> Case:
    """The most memory that a process had resident, over what it had before: each mode in a process of its own."""
    size = m.sized(GIB)

    def run(mode: str) -> float:
        command = [sys.executable, "-m", "turnpike._bench.resident", mode, str(size), str(m.device)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            said = (done.stderr.strip() or "(it said nothing)").splitlines()[-1]
            raise RuntimeError(f"the process that measures {mode!r} ended with code {done.returncode}: {said}")
        return float(json.loads(done.stdout)["peak_bytes"]) / MIB

    def check(mebibytes: float) -> None:
        # Less than the tensor itself cannot be.
        if mebibytes * MIB < 0.9 * size:
            raise WrongResult(f"{mebibytes:.0f} MiB resident for a tensor of {size // MIB} MiB")

    def role(mode: str) -> str:
        return {"pageable": "bound", "Turnpike, in place": "turnpike"}.get(mode, "pytorch")

    ways = [Way(mode, role(mode), partial(run, mode), check) for mode in MODES]
    no_more = Target("Turnpike, in place", "value <=", 1.05 * GIB / MIB, "no memory beside the 1 GiB itself (5 %)")
    return Case(
        "host memory of 1 GiB",
        "MiB",
        1,
        ways,
        "pin_memory() afterwards",
        bound="pageable",
        targets=[no_more],
        most_rounds=1,
        warm_rounds=0,
        returns_figure=True,
    )
