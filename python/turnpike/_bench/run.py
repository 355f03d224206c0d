"""Runs experiments: builds each case when its turn comes, lets its ways take turns, and keeps the rows."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import time
from collections.abc import Callable
from typing import Any

from turnpike._bench import EXPERIMENTS, result, table
from turnpike._bench.machine import Machine, Nothing
from turnpike._bench.timing import Planned, Rounds, WrongResult, no_garbage_collection, take_turns

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Options:
    """How long and how much. seconds: for one experiment, about: each case has its least rounds."""

    quick: bool = False
    seconds: float = 40.0
    trace: str | None = None

    @property
    def least_rounds(self) -> int:
        return 2 if self.quick else 3


@dataclasses.dataclass
class Outcome:
    """What came of experiments. wrong: a result was not what it should be; nothing: what could not be measured here."""

    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)
    failed: list[str] = dataclasses.field(default_factory=list)
    nothing: list[str] = dataclasses.field(default_factory=list)

    def problems(self) -> list[str]:
        return self.wrong + self.failed + self.nothing


def plan_of(experiment: str, options: Options) -> list[Planned]:
    """The cases of an experiment, not yet built."""
    module = importlib.import_module(f"turnpike._bench.{experiment}")
    return module.plan(quick=options.quick, trace=options.trace)


def run_experiment(
    experiment: str,
    machine: Machine,
    options: Options,
    outcome: Outcome,
    show: Say,
    said: Say,
    keep: Callable[[], None] = lambda: None,
) -> None:
    """Measures all cases. show takes the table, `said` the progress, and keep() is called after each case.

    One failure does not hide the rest.
    """
    planned = plan_of(experiment, options)
    left_s, left_weight = options.seconds, sum(one.weight for one in planned)
    show(f"{experiment}: {EXPERIMENTS[experiment]}\n{table.head()}")
    for one in planned:
        started = time.monotonic()
        share_s = max(0.0, left_s) * one.weight / left_weight
        left_weight -= one.weight
        try:
            rows, notes = _run_case(experiment, one, machine, Rounds(share_s, options.least_rounds), said)
        except WrongResult as wrong:
            outcome.wrong.append(f"{experiment}: WRONG RESULT: {wrong}")
            show(f"  WRONG RESULT: {wrong}")
        except Nothing as nothing:
            sentence = f"{experiment}: {nothing}"
            if sentence not in outcome.nothing:
                outcome.nothing.append(sentence)
                show(f"  {nothing}")
        except Exception as error:  # e.g. too little memory for this case
            outcome.failed.append(f"{experiment}, {one.name}: {type(error).__name__}: {first_line(error)}")
            show(f"  {one.name} FAILED: {type(error).__name__}: {first_line(error)}")
        else:
            outcome.rows += rows
            show("\n".join([*table.lines(rows), *(f"  {note}" for note in notes)]))
        keep()
        left_s -= time.monotonic() - started
        _release(machine)


def first_line(error: BaseException) -> str:
    return (str(error).strip() or "(it said nothing)").splitlines()[0]


def _run_case(
    experiment: str, one: Planned, machine: Machine, rounds: Rounds, said: Say
) -> tuple[list[dict[str, Any]], list[str]]:
    said(f"{experiment}, {one.name}: preparing")
    try:
        case = one.build(machine)
    finally:
        said("")
    try:
        with no_garbage_collection():
            samples = take_turns(case, rounds, machine.synchronize, said=lambda text: said(f"{experiment}, {text}"))
        case.afterwards()
    finally:
        case.close()
        said("")
    return result.rows_of(experiment, case, samples), case.notes


def _release(machine: Machine) -> None:
    # The next case takes gigabytes of its own.
    gc.collect()
    machine.release_device_memory()
    machine.release_pinned_memory()
