"""What a crossings program says about its own transfers, and the comparison of that with what Turnpike reported.

A program carries its expectations as comments, in Python behind #, in C++ behind //:

    y = x.to("cuda")  # <- T1
    # expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
    # expect T1: sync count=1

`<- T1` names the line. `expect PLACE: WHAT key=value ...` says what must be found there:

    PLACE     a name of a line; `native` for transfers without a Python frame; `FILE:LINE` for code that is in no file
    WHAT      h2d d2h d2d p2p h2h memset, or sync; or any, alone: what a library does there is its own business
    count, bytes, blocked    exact sums over the place (blocked: how many held the host until they were done)
    kinds     source->destination, e.g. pageable->device
    op        the outermost operator, e.g. aten::to; `none` where there is no operator
    function, phase, api, forward (a name of a line), graph (yes/no)
    guard     where the guard raises, if elsewhere (../guard/run.py): FILE:LINE or FILE:FUNCTION

kinds and op, where given, also select: two expectations of a line may differ in them. What is not given is not
compared. `expect nothing` stands in a program in which no transfer may be found. Every transfer that is reported at the
program's lines, or natively, must be covered by an expectation: nothing missing, nothing extra. Synchronisations are
only compared where one is expected.

    # suite: count=truth processes=2 gpus=2 needs=cupy

count=kineto   (the default) totals must equal those of a second run under torch.profiler
count=interpose  those of a second run with an interposing counter around the copy functions of libcudart
count=truth    those of the expectations themselves: all transfers of the program are in them
count=none     nothing can count this program
processes, gpus, launch=torchrun, cudart=static: how it is started
needs          Python modules or commands without which the program is skipped
losses         names of losses that the program cannot but cause
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h", "memset")
_INTEGERS = ("count", "bytes", "blocked")
_TEXTS = ("kinds", "op", "function", "phase", "api", "forward", "graph", "guard")
_EXPECT = re.compile(r"^\s*(?:#|//)\s*expect\s+(.+?)\s*$")
_SUITE = re.compile(r"^\s*(?:#|//)\s*suite:\s+(.+?)\s*$")
_MARK = re.compile(r"(?:#|//).*<-\s*(\w+(?:\s*,\s*\w+)*)")


class ProgramError(Exception):
    """A program whose comments cannot be read: the suite's own mistake."""


@dataclasses.dataclass
class Expectation:
    place: str
    line: int | None  # None: native
    file: str | None  # None: the program's own
    what: str
    values: dict[str, Any]

    def __str__(self) -> str:
        keys = " ".join(f"{key}={value}" for key, value in self.values.items())
        at = "" if self.line is None else f" (line {self.line})"
        return f"{self.place}{at}: {self.what} {keys}"


@dataclasses.dataclass
class Program:
    path: str
    name: str
    expectations: list[Expectation]
    lines: dict[str, int]
    suite: dict[str, str]

    @property
    def count(self) -> str:
        return self.suite.get("count", "kineto")

    @property
    def allowed_losses(self) -> set[str]:
        return set(filter(None, self.suite.get("losses", "").split(",")))

    def expected_totals(self) -> dict[str, tuple[int, int]]:
        """Count and bytes by direction, from the expectations."""
        totals = {direction: (0, 0) for direction in DIRECTIONS}
        for expectation in self.expectations:
            if expectation.what in totals:
                count, size = totals[expectation.what]
                totals[expectation.what] = (count + expectation.values["count"], size + expectation.values["bytes"])
        return totals


def read_program(path: str) -> Program:
    """Reads the comments of the program at `path`."""
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path) as file:
        text = file.read().splitlines()
    program = Program(os.path.abspath(path), name, [], {}, {})
    for number, line in enumerate(text, start=1):
        if mark := _MARK.search(line):
            for label in re.split(r"\s*,\s*", mark[1]):
                if label in program.lines:
                    raise ProgramError(f"{name}:{number}: the name {label} stands twice")
                program.lines[label] = number
    said_nothing = False
    for number, line in enumerate(text, start=1):
        if suite := _SUITE.match(line):
            program.suite.update(_pairs(suite[1].split(), f"{name}:{number}"))
        elif expect := _EXPECT.match(line):
            if expect[1] == "nothing":
                said_nothing = True
            else:
                program.expectations.append(_expectation(program, expect[1], f"{name}:{number}"))
    transfers = [e for e in program.expectations if e.what != "sync"]
    if said_nothing == bool(transfers):
        raise ProgramError(f"{name}: say either `expect nothing` or which transfers are expected")
    return program


def _expectation(program: Program, text: str, where: str) -> Expectation:
    match = re.match(r"(\S+):\s+(\w+)\s*(.*)$", text)
    if not match:
        raise ProgramError(f"{where}: no expectation: {text}")
    place, what, rest = match.groups()
    if what not in ("sync", "any", *DIRECTIONS):
        raise ProgramError(f"{where}: unknown kind of transfer: {what}")
    values: dict[str, Any] = {}
    for key, value in _pairs(rest.split(), where).items():
        if key in _INTEGERS:
            values[key] = int(value)
        elif key in _TEXTS:
            values[key] = value
        else:
            raise ProgramError(f"{where}: unknown key: {key}")
    needed = {"sync": {"count"}, "any": set()}.get(what, {"count", "bytes"})
    if missing := needed - values.keys():
        raise ProgramError(f"{where}: lacks {', '.join(sorted(missing))}")
    if "forward" in values and values["forward"] not in program.lines:
        raise ProgramError(f"{where}: no line is named {values['forward']}")
    if place == "native":
        return Expectation(place, None, None, what, values)
    if place in program.lines:
        return Expectation(place, program.lines[place], None, what, values)
    elsewhere = re.match(r"(.+):(\d+)$", place)
    if not elsewhere:
        raise ProgramError(f"{where}: no line is named {place}")
    return Expectation(place, int(elsewhere[2]), elsewhere[1], what, values)


def _pairs(words: list[str], where: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ProgramError(f"{where}: not key=value: {word}")
        pairs[key] = value
    return pairs


def compare(program: Program, report: dict[str, Any]) -> list[str]:
    """What is wrong with `report` (the object of `turnpike report --json`) for `program`: empty when nothing is."""
    problems = []
    for what in ("transfers", "sync"):
        expectations = [e for e in program.expectations if (e.what == "sync") == (what == "sync")]
        rows = report["sync_sites"] if what == "sync" else report["sites"]
        assigned: list[list[dict[str, Any]]] = [[] for _ in expectations]
        for row in rows:
            index = next((i for i, e in enumerate(expectations) if _selects(e, row, program)), None)
            if index is not None:
                assigned[index].append(row)
            elif what == "transfers" and _is_in_scope(row, program):
                problems.append(f"extra: {describe(row, program)}")
        for expectation, found in zip(expectations, assigned, strict=True):
            problems += _compare_one(expectation, found, program)
    return problems


def compare_totals(report: dict[str, Any], other: dict[str, tuple[int, int]] | None, name: str) -> list[str]:
    """Differences between the report's totals, its sites, and the independent count `other` (if any) called `name`."""
    problems = []
    for direction in DIRECTIONS:
        total = report["totals"][direction]
        found = (total["count"], total["bytes"])
        sites = [site for site in report["sites"] if site["direction"] == direction]
        summed = (sum(site["count"] for site in sites), sum(site["bytes"] for site in sites))
        if summed != found:
            problems.append(f"total {direction}: the sites sum to {_amount(summed)}, the total says {_amount(found)}")
        if other is not None and found != other[direction]:
            problems.append(f"total {direction}: reported {_amount(found)}, {name} counted {_amount(other[direction])}")
    return problems


def describe(row: dict[str, Any], program: Program | None = None) -> str:
    """A row of the report in the words of an expectation."""
    what = row.get("direction", "sync")
    words = [f"{_place(row, program)}: {what} count={row['count']}"]
    if what != "sync":
        words.append(f"bytes={row['bytes']} kinds={row['src_kind']}->{row['dst_kind']}")
    words.append(f"op={row['op'] or 'none'}")
    if what != "sync":
        words.append(f"blocked={row['blocked_count']}")
        if row["in_graph"]:
            words.append("graph=yes")
    if row["function"]:
        words.append(f"function={row['function']}")
    if row["phase"]:
        words.append(f"phase={row['phase']}")
    words.append(f"api={row['api']}")
    if row["forward_site"]:
        words.append(f"forward_site={row['forward_site']}")
    return " ".join(words)


def _place(row: dict[str, Any], program: Program | None) -> str:
    if row["file"] is None:
        return "native"
    if program and _is_of_program(row["file"], program):
        names = [name for name, line in program.lines.items() if line == row["line"]]
        return names[0] if names else f"line {row['line']}"
    return f"{row['file']}:{row['line']}"


def _is_of_program(file: str, program: Program) -> bool:
    return os.path.basename(file) == os.path.basename(program.path)


def _is_in_scope(row: dict[str, Any], program: Program) -> bool:
    if row["file"] is None or _is_of_program(row["file"], program):
        return True
    # Reported at a line of a library although a line of the program led to it: reported wrongly.
    named = [e.file for e in program.expectations if e.file]
    return row["file"] in named or any(os.path.basename(program.path) in frame for frame in row["stack"])


def _selects(expectation: Expectation, row: dict[str, Any], program: Program) -> bool:
    if expectation.what not in (row.get("direction", "sync"), "any"):
        return False
    if expectation.line is None:
        if row["file"] is not None:
            return False
    elif expectation.file is not None:
        if (row["file"], row["line"]) != (expectation.file, expectation.line):
            return False
    elif row["file"] is None or not _is_of_program(row["file"], program) or row["line"] != expectation.line:
        return False
    values = expectation.values
    if "op" in values and values["op"] != (row["op"] or "none"):
        return False
    if "kinds" in values and values["kinds"] != f"{row['src_kind']}->{row['dst_kind']}":
        return False
    return "forward" not in values or _leads_to(row, values["forward"], program)


def _leads_to(row: dict[str, Any], label: str, program: Program) -> bool:
    site = row["forward_site"]
    return site is not None and site.endswith(f"{os.path.basename(program.path)}:{program.lines[label]}")


def _compare_one(expectation: Expectation, rows: list[dict[str, Any]], program: Program) -> list[str]:
    wanted = expectation.values
    if expectation.what == "any":
        return []
    if not rows and wanted["count"] > 0:
        return [f"missing: {expectation}"]
    sums = {"count": sum(row["count"] for row in rows)}
    if expectation.what != "sync":
        sums["bytes"] = sum(row["bytes"] for row in rows)
        sums["blocked"] = sum(row["blocked_count"] for row in rows)
    problems = [
        f"{key}: expected {wanted[key]}, found {sums[key]} at {expectation}"
        for key in sums
        if key in wanted and wanted[key] != sums[key]
    ]
    for row in rows:
        for key in ("function", "phase", "api"):
            if key in wanted and not _is_same_text(wanted[key], row[key]):
                problems.append(f"{key}: expected {wanted[key]}, found {row[key]} at {expectation}")
        if "graph" in wanted and (wanted["graph"] == "yes") != row["in_graph"]:
            problems.append(f"graph: expected {wanted['graph']} at {expectation}")
    return problems


def _is_same_text(wanted: str, found: str | None) -> bool:
    # A native function is written with its parameters and, from some demanglers, its return type: its name decides.
    return found is not None and (found == wanted or re.search(rf"(^|[\s:]){re.escape(wanted)}\(", found) is not None)


def _amount(pair: tuple[int, int]) -> str:
    return f"{pair[0]} of {pair[1]} bytes"
