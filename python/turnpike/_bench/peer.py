"""bench peer: copies between two GPUs, beside computation on both."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from turnpike._bench.figures import Target
from turnpike._bench.machine import GIB, MIB, Machine, Nothing
from turnpike._bench.timing import POISON, Case, Planned, Way, WrongResult
from turnpike._bench.work import Work, seconds_of

PLAIN, TURNPIKE = "PyTorch copy_", "Turnpike copy_"
COPY, COMPUTE, BOUND = "copy alone", "computation alone", "the longer of both"
OVERLAP = "overlap"
SIDES = ("current", "side")
COPY_BYTES = 2 * GIB


def plan(quick: bool, trace: str | None = None, **_: Any) -> list[Planned]:
    sizes = [256 * MIB] if quick else [MIB, 16 * MIB, 256 * MIB, GIB]
    rates = [Planned(f"rate, {size // MIB} MiB", partial(rate, size_bytes=size)) for size in sizes]
    return [*rates, Planned("beside computation", partial(beside_computation, trace=trace), 3)]


class Pair:
    """The sender, which is this machine's device, and the receiver."""

    def __init__(self, m: Machine, size: int) -> None:
        if m.device_count() < 2:
            raise Nothing("copies between GPUs need two of them, and PyTorch sees one")
        self.m = m
        self.sender, self.receiver = m.device, m.other_device()
        self.pattern = m.pattern(size)
        self.source = self.pattern.to(self.sender)
        self.target = m.torch.empty_like(self.source, device=self.receiver)
        self.wanted = self.pattern.to(self.receiver)

    def poison(self) -> None:
        self.target.view(self.m.torch.uint8).fill_(POISON)

    def check(self, _: Any) -> None:
        self.m.same(self.target, self.wanted)

    def turnpike_copy(self) -> Any:
        return self.m.tp.copy_(self.target, self.source)


def rate(m: Machine, size_bytes: int) -> Case:
    size = m.sized(size_bytes)
    pair = Pair(m, size)
    times = max(1, min(50, m.sized(4 * GIB) // size))

    def plain() -> None:
        for _ in range(times):
            pair.target.copy_(pair.source, non_blocking=True)

    def turnpike() -> None:
        for _ in range(times):
            pair.turnpike_copy().wait()

    ways = [
        Way(PLAIN, "pytorch", plain, pair.check, pair.poison),
        Way(TURNPIKE, "turnpike", turnpike, pair.check, pair.poison),
    ]
    least = 0.97 if size_bytes >= 16 * MIB else 0.9
    plain_rate = Target(TURNPIKE, "ratio >=", least, f"at least {least:.0%} of the plain rate", PLAIN)
    return Case(
        f"rate, {size_bytes // MIB} MiB",
        "GB/s",
        size * times,
        ways,
        PLAIN,
        targets=[plain_rate] if size_bytes >= MIB else [],
        size_bytes=size_bytes,
        series="GPU to GPU",
        notes=[route(m, pair)],
    )


def route(m: Machine, pair: Pair) -> str:
    """How the copies go: what the driver says, and what Turnpike does, which tried the pair with known bytes."""
    before = m.tp.move_stats().p2p.staged_bytes
    pair.turnpike_copy().synchronize()
    staged = m.tp.move_stats().p2p.staged_bytes > before
    reached = "can" if m.can_reach(pair.sender, pair.receiver) else "cannot"
    how = "through the host: the direct way is missing, or brought wrong bytes" if staged else "directly"
    return f"the driver says that {pair.sender} {reached} reach {pair.receiver}; Turnpike copies {how}"


def beside_computation(m: Machine, trace: str | None) -> Case:
    """Copy first, computation on both GPUs' current streams after it: which choices of streams let both run at once?"""
    pair = Pair(m, m.sized(COPY_BYTES))
    works = [Work(m, pair.sender), Work(m, pair.receiver)]
    copy_s = seconds_of(m, lambda: pair.target.copy_(pair.source))
    times = [work.times_for(copy_s) for work in works]
    side = {device: m.new_stream(device) for device in (pair.sender, pair.receiver)}

    def compute() -> None:
        for work, count in zip(works, times, strict=True):
            work.run(count)

    def streams(sender: str, receiver: str) -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        for device, kind in ((pair.sender, sender), (pair.receiver, receiver)):
            if kind == "side":
                side[device].wait_stream(m.current_stream(device))
                stack.enter_context(m.use(side[device]))
        return stack

    def by_streams(sender: str, receiver: str, non_blocking: bool) -> Callable[[], None]:
        def run() -> None:
            with streams(sender, receiver):
                pair.target.copy_(pair.source, non_blocking=non_blocking)
            compute()

        return run

    def turnpike() -> None:
        work = pair.turnpike_copy()
        compute()
        work.wait()

    ways = [
        Way(_name(*choice), _role(*choice), by_streams(*choice), pair.check, pair.poison)
        for choice in itertools.product(SIDES, SIDES, (False, True))
    ]
    ways.append(Way(TURNPIKE, "turnpike", turnpike, pair.check, pair.poison))
    overlapped = [way.name for way in ways]
    ways += [
        Way(COPY, "bound", lambda: pair.target.copy_(pair.source), pair.check, pair.poison),
        Way(COMPUTE, "bound", compute, _no_check),
    ]
    derived: dict[str, Callable[[dict[str, float]], float]] = {
        BOUND: lambda values: max(values[COPY], values[COMPUTE]),
    }

    def write_traces() -> None:
        # After the turns: a profiler that was on once may leave something behind.
        for way in ways:
            _write_trace(m, way, trace or "")

    return Case(
        "beside computation",
        "ms",
        1,
        ways,
        _name("current", "current", False),
        bound=BOUND,
        derived=derived,
        derived_extras={OVERLAP: {name: _overlap_of(name) for name in overlapped}},
        extras={OVERLAP: "%"},
        targets=[Target(TURNPIKE, "value >=", 90, "at least 90 % of the copy beside computation", metric=OVERLAP)],
        afterwards=write_traces if trace else _nothing,
    )


def _nothing() -> None:
    pass


def _no_check(_: Any) -> None:
    """Computation alone brings nothing that could be compared."""


def _overlap_of(name: str) -> Callable[[dict[str, float]], float]:
    return lambda values: overlap_pct(values[name], values[COPY], values[COMPUTE])


def overlap_pct(together: float, copy: float, compute: float) -> float:
    """Which part of the shorter one ran beside the other: 0 one after the other, 100 entirely."""
    hidden = copy + compute - together
    return 100 * max(0.0, min(1.0, hidden / min(copy, compute)))


def _name(sender: str, receiver: str, non_blocking: bool) -> str:
    return f"sender {sender}, receiver {receiver}" + (", non_blocking" if non_blocking else "")


def _role(sender: str, receiver: str, non_blocking: bool) -> str:
    return "best" if (sender, receiver, non_blocking) == ("side", "side", True) else "pytorch"


def _write_trace(m: Machine, way: Way, path: str) -> None:
    stem, ending = os.path.splitext(path)
    words = way.name.replace(",", "").replace(" ", "-").lower()
    way.prepare()
    m.synchronize()
    with m.profile(f"{stem}-{words}{ending or '.json'}"):
        way.run()
    try:
        way.check(None)
    except WrongResult as wrong:
        raise WrongResult(f"while its trace was written, {way.name}: {wrong}") from None
