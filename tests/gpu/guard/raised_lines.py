"""The lines at which a program raised under the guard, and those at which its comments say that it transfers."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import expectations as ex

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h")
_RAISED = re.compile(
    rf"turnpike\.guard: (?P<direction>{'|'.join(DIRECTIONS)})[^\n]*? by \S+ "
    r"(?:at (?P<file>[^\n]+?):(?P<line>\d+) in (?P<function>[^\n]*?)\(\)|on the thread )"
)


class Line(NamedTuple):
    """`place`: FILE:LINE, "native" where no Python runs; of an expectation FILE:FUNCTION, too."""

    place: str
    direction: str
    function: str = ""  # of what was raised

    def is_as(self, expected: Line) -> bool:
        """Whether this, which was raised, is what was expected."""
        file = self.place.rpartition(":")[0]
        places = (self.place, f"{file}:{self.function.rpartition('.')[2]}")
        return self.direction == expected.direction and expected.place in places

    def __str__(self) -> str:
        return f"{self.direction} at {self.place}"

    def site(self) -> tuple[str, str]:
        """The direction, and the site that allows it."""
        return self.direction, self.place


def found_in(text: str) -> set[Line]:
    """What was raised or deferred, according to the program's standard error."""
    found = set()
    for match in _RAISED.finditer(text):
        place = f"{match['file']}:{match['line']}" if match["file"] else "native"
        found.add(Line(place, match["direction"], match["function"] or ""))
    return found


def expected_lines(program: ex.Program) -> set[Line]:
    """By the expectations; how often, and how large, is the recorder's business.

    `guard` names the place where it is another one than the recorder's.
    """
    lines = set()
    for expectation in program.expectations:
        if expectation.what not in DIRECTIONS or expectation.values.get("count") == 0:
            continue
        name = os.path.basename(expectation.file or program.path)
        place = "native" if expectation.line is None else f"{name}:{expectation.line}"
        lines.add(Line(expectation.values.get("guard", place), expectation.what))
    return lines
