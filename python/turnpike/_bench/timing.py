"""Lets several ways to do the same thing take turns in one process, and checks what each turn did."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from turnpike._bench.figures import Target

# What stands in memory before a copy is to fill it: a copy that did not happen is seen.
POISON = 0xA5
# Before each turn. PyTorch's CPU threads spin for some milliseconds after their last operation, so without a pause a
# turn would also measure the one before it. (A program with busy cores is a case of its own, in prefetch.)
REST_S = 0.01


class WrongResult(Exception):
    """A way did not produce what it should have."""


def _nothing(*_: Any) -> None:
    pass


@dataclasses.dataclass
class Way:
    """One way to do what a case is about.

    run: what is timed, from its call until the device has finished everything; returns what check() is to see.
    check: raises WrongResult when that is not what it should be. Not timed, nor are the following.
    prepare: before each turn: poisons destinations, takes the next source.
    extra: further figures of a turn, by the metrics that the case names in `extras`.
    finish: after each turn, with what run() returned: undoes what must not last until the next.
    role: "pytorch", "best" (the hand-written best practice), "turnpike" or "bound" (what the hardware can do).
    """

    name: str
    role: str
    run: Callable[[], Any]
    check: Callable[[Any], None]
    prepare: Callable[[], None] = _nothing
    extra: Callable[[Any], dict[str, float]] | None = None
    finish: Callable[[Any], None] = _nothing


@dataclasses.dataclass
class Case:
    """Ways to be compared, and how.

    unit: "GB/s" (10^9 bytes a second), "ms", "us", "MiB".
    returns_figure: run() itself measures, and returns the figure in this unit.
    quantity: bytes for a rate; for a time, by how many steps, tensors, ... it is divided.
    baseline: the way that speed-ups are told against. bound: a way or a derived figure that nothing can beat.
    derived: figures made of those of one round: name -> function of {way: value}, e.g. the larger of two times.
    extras: the units of the metrics that the ways' extra() give, or derived_extras: metric -> {way: function as above}.
    size_bytes: given for cases that differ only in their size; those make a curve.
    afterwards: once, after the last turn, when nothing was wrong.
    close: releases what outlives the turns, e.g. a thread.
    """

    name: str
    unit: str
    quantity: float
    ways: list[Way]
    baseline: str
    bound: str | None = None
    derived: dict[str, Callable[[dict[str, float]], float]] = dataclasses.field(default_factory=dict)
    targets: list[Target] = dataclasses.field(default_factory=list)
    extras: dict[str, str] = dataclasses.field(default_factory=dict)
    derived_extras: dict[str, dict[str, Callable[[dict[str, float]], float]]] = dataclasses.field(default_factory=dict)
    size_bytes: int | None = None
    series: str | None = None
    returns_figure: bool = False
    most_rounds: int | None = None
    warm_rounds: int = 1
    notes: list[str] = dataclasses.field(default_factory=list)
    afterwards: Callable[[], None] = _nothing
    close: Callable[[], None] = _nothing

    def value(self, seconds: float, result: Any) -> float:
        """The figure of a turn, in the case's unit."""
        if self.returns_figure:
            return float(result)
        if self.unit == "GB/s":
            return self.quantity / seconds / 1e9
        return seconds / self.quantity * {"ms": 1e3, "us": 1e6}[self.unit]


@dataclasses.dataclass
class Planned:
    """A case that is built when its turn comes: they take gigabytes. weight: its share of the experiment's time."""

    name: str
    build: Callable[[Any], Case]
    weight: float = 1.0


@dataclasses.dataclass
class Rounds:
    """How often the ways take turns: `least` rounds in any case, then until `seconds` are over or `most` are done."""

    seconds: float
    least: int = 3
    most: int = 31


@dataclasses.dataclass
class Samples:
    """What was measured: for each metric ("" is the case's own) and way, the values round by round."""

    by_metric: dict[str, dict[str, list[float]]]

    def rounds(self) -> int:
        return max((len(values) for values in self.by_metric[""].values()), default=0)


def take_turns(
    case: Case,
    rounds: Rounds,
    synchronize: Callable[[], None],
    clock: Callable[[], float] = time.perf_counter,
    said: Callable[[str], None] = _nothing,
) -> Samples:
    """A B C A B C ...: one turn of each way in each round. The first `warm_rounds` are checked, and not counted."""
    by_metric: dict[str, dict[str, list[float]]] = {metric: {} for metric in ("", *case.extras)}
    end = clock() + rounds.seconds
    most = min(rounds.most, case.most_rounds or rounds.most)
    for number in range(-case.warm_rounds, most):
        if number >= min(rounds.least, most) and clock() >= end:
            break
        values: dict[str, float] = {}
        for way in case.ways:
            said(f"{case.name}: round {number + 1}, {way.name}" if number >= 0 else f"{case.name}: {way.name}")
            values[way.name], extra = _turn(case, way, synchronize, clock)
            if number >= 0:
                for metric, value in extra.items():
                    by_metric[metric].setdefault(way.name, []).append(value)
        if number >= 0:
            _keep_round(case, values, by_metric)
    return Samples(by_metric)


def _keep_round(case: Case, values: dict[str, float], by_metric: dict[str, dict[str, list[float]]]) -> None:
    for name, derive in case.derived.items():
        values[name] = derive(values)
    for name, value in values.items():
        by_metric[""].setdefault(name, []).append(value)
    for metric, ways in case.derived_extras.items():
        for name, derive in ways.items():
            by_metric[metric].setdefault(name, []).append(derive(values))


def _turn(
    case: Case, way: Way, synchronize: Callable[[], None], clock: Callable[[], float]
) -> tuple[float, dict[str, float]]:
    way.prepare()
    synchronize()
    time.sleep(REST_S)
    start = clock()
    result = way.run()
    synchronize()
    value = case.value(clock() - start, result)
    try:
        extra = way.extra(result) if way.extra else {}
        way.check(result)
    except WrongResult as wrong:
        raise WrongResult(f"{case.name}, {way.name}: {wrong}") from None
    finally:
        way.finish(result)
    return value, extra


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A collection in one turn and not in the next would be 10 ms of noise."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
