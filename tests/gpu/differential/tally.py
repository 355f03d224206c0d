"""What the jobs of the differential tester found together, and the result file's rows of it."""

from __future__ import annotations

import collections
import dataclasses
import os
import re
from typing import Any

import programs
import result_file
from catalogue import all_faults

# Differences that say which fault it is, whatever the operation.
FAULTS_OF_FIELDS = {"storage_bytes": "4", "storage": "4", "offset": "4"}


@dataclasses.dataclass
class Found:
    """One kind of difference."""

    key: str
    count: int = 0
    seeds: list[Any] = dataclasses.field(default_factory=list)
    example: str = ""
    script: str = ""

    @property
    def faults(self) -> list[str]:
        """The known faults that it may be."""
        operation, _, field = self.key.partition(": ")
        if field in FAULTS_OF_FIELDS:
            return [FAULTS_OF_FIELDS[field]]
        return sorted({fault.number for fault in all_faults().values() if fault.covered_by == operation})


class Tally:
    """What all jobs found."""

    def __init__(self, keep: str | None) -> None:
        self._keep = keep
        self.programs = self.statements = self.same_programs = 0
        self.operations: collections.Counter[str] = collections.Counter()
        self.cells: dict[tuple[str, str], list[int]] = {}  # (aspect, call): equal, in all
        self.found: dict[str, Found] = {}
        self.unsteady: collections.Counter[str] = collections.Counter()
        self.restarts: collections.Counter[str] = collections.Counter()

    def done(self, event: dict[str, Any]) -> None:
        self.programs += 1
        self.statements += event["statements"]
        self.same_programs += not event["failures"]
        self.unsteady.update(set(event["unsteady"]))
        differing = {(_block_of(failure), _is_of_storages(failure)) for failure in event["failures"]}
        is_kept = any(label == "program" for label, _ in differing)
        for operation, aspect, call, label in event["blocks"]:
            self.operations[operation] += 1
            # Every program looks at the storages of what was moved, and at what is kept in the end.
            same = {aspect: True, "storages": True, "lifetimes": not is_kept}
            same[aspect] &= (label, False) not in differing
            same["storages"] &= (label, True) not in differing
            for each, is_same in same.items():
                cell = self.cells.setdefault((each, call), [0, 0])
                cell[0] += is_same
                cell[1] += 1
        for failure in {failure["key"]: failure for failure in event["failures"]}.values():
            self.failed(failure["key"], event["seed"], failure["text"])

    def failed(self, key: str, seed: Any, example: str, script: str = "") -> None:
        found = self.found.setdefault(key, Found(key))
        found.count += 1
        if len(found.seeds) < 10:
            found.seeds.append(seed)
        found.example = found.example or example
        if script:
            self.program(key, seed, example, script)

    def program(self, key: str, seed: Any, example: str, script: str) -> None:
        found = self.found.setdefault(key, Found(key))
        if found.script and len(found.script) <= len(script):
            return
        found.script = script
        text = programs.script(script, f"{key}\n{example}\nseed {seed}")
        print(f"\n--- {key} (fault {' or '.join(found.faults) or 'not known'})\n{text}", flush=True)
        if self._keep:
            os.makedirs(self._keep, exist_ok=True)
            name = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
            with open(os.path.join(self._keep, f"{name}.py"), "w") as file:
                file.write(text)


def _block_of(failure: dict[str, str]) -> str:
    """The label of the block that a difference is in; "program" when it is of the whole program."""
    operation, *number = failure["label"].split("/")
    return operation if operation == "program" else "/".join([operation, *number[:1]])


def _is_of_storages(failure: dict[str, str]) -> bool:
    return failure["key"].partition(": ")[2] in FAULTS_OF_FIELDS


def state_of(tally: Tally) -> str:
    restarts = ", ".join(f"{count} {why}" for why, count in tally.restarts.items()) or "none"
    return (
        f"{tally.programs} programs, {tally.statements} statements, {tally.programs - tally.same_programs} differ in "
        f"{len(tally.found)} ways; processes replaced: {restarts}"
    )


def rows_of(tally: Tally) -> list[dict[str, Any]]:
    """The cells of the table, and the kinds of differences."""
    rows = [
        result_file.row(
            f"{aspect} / {call}", "same as PyTorch", "programs", same, samples=count, target=count, met=same == count,
            aspect=aspect, call=call,
        )
        for (aspect, call), (same, count) in sorted(tally.cells.items())
    ]  # fmt: skip
    for found in sorted(tally.found.values(), key=lambda found: -found.count):
        rows.append(
            result_file.row(
                found.key, "differences", "programs", found.count, samples=tally.programs, target=0, met=False,
                faults=found.faults, seeds=found.seeds, example=found.example, script=found.script,
            )
        )  # fmt: skip
    return rows
