"""A program of programs/ and the table beside it: which advice of its report is which switch of the program.

steps = 40                  how many to record
warm_up = 5                 steps before anything is timed
lead = 3                    steps at the start of a block that are not timed; more where a loader has batches ready
seconds = 1                 its rounds take so many times as long: where a step differs much from the next
period = 1                  a block of steps is a multiple of it: what happens in every tenth step is in each alike
[[fix]]
name = "workers"            the program's switch: --fix workers
does = "..."                the change, as the report words it
lead = 12                   for this fix
environment = {NAME = ""}   what is set for the program instead of, or beside, the switch
switch = false              the environment is all: the program has no such switch
[[fix.answers]]             the findings whose advice it follows
rule = "late_loader"
site = "loader"             optional: a part of the finding's place
says = "num_workers"        optional: a part of the finding's advice, or of an alternative, whose saving it is then
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
from typing import Any

import tomllib

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
WORKERS = re.compile(r"num_workers=(\d+)")


@dataclasses.dataclass(frozen=True)
class Fix:
    name: str
    does: str
    answers: tuple[dict[str, str], ...] = ()
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    switch: bool = True
    lead: int | None = None

    def claim(self, finding: dict[str, Any]) -> dict[str, Any] | None:
        """The finding, if this fix follows its advice or an alternative, with the saving of that. Else None."""
        for way in ({}, *finding.get("alternatives", [])):
            advised = finding | way
            if any(
                advised["rule"] == answer["rule"]
                and answer.get("site", "") in advised["site"]
                and answer.get("says", "") in advised["advice"]
                for answer in self.answers
            ):
                return advised
        return None

    def follows(self, finding: dict[str, Any]) -> bool:
        """Whether this is what the finding advises."""
        return self.claim(finding) is not None

    def options(self, findings: list[dict[str, Any]]) -> list[str]:
        """The program's options. A number of workers is the one that the findings advise."""
        if not self.switch:
            return []
        advised = [WORKERS.search(finding["advice"]) for finding in findings if self.follows(finding)]
        numbers = [match[1] for match in advised if match]
        return ["--fix", self.name, *(["--num-workers", numbers[0]] if numbers else [])]


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    path: str
    steps: int
    warm_up: int
    lead: int
    period: int
    seconds: float
    fixes: tuple[Fix, ...]


def names(folder: str = PROGRAMS) -> list[str]:
    return sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(folder, "[a-z]*.py")))


def load(name: str, folder: str = PROGRAMS) -> Program:
    path = os.path.join(folder, name + ".py")
    if not os.path.exists(path):
        raise ValueError(f"there is no program {name}; there are {', '.join(names(folder))}")
    with open(os.path.join(folder, name + ".toml"), "rb") as file:
        table = tomllib.load(file)
    fixes = [Fix(**fix | {"answers": tuple(fix.get("answers", ()))}) for fix in table["fix"]]
    numbers = {"steps": 40, "warm_up": 5, "lead": 3, "period": 1, "seconds": 1}
    numbers = {key: table.get(key, usual) for key, usual in numbers.items()}
    return Program(name, path, **numbers, fixes=tuple(fixes))
