"""The lines at which a program raised under the guard, and those at which its comments say that it transfers."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import expectations as ex

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h")
_RAISED = re.compile(
    rf"turnpike\.guard: (?P<direction>{'|'.join(DIRECTIONS)})[^\n]*? by \S+ "
    r"(?:at (?P<file>[^\n]+?):(?P<line>\d+) in |on the thread )"
)


class Line(NamedTuple):
    """`place`: FILE:LINE, or "native" where no Python runs."""

    place: str
    direction: str

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
        found.add(Line(place, match["direction"]))
    return found


def expected_lines(program: ex.Program) -> set[Line]:
    """By the expectations; how often, and how large, is the recorder's business."""
    lines = set()
    for expectation in program.expectations:
        if expectation.what not in DIRECTIONS or expectation.values.get("count") == 0:
            continue
        name = os.path.basename(expectation.file or program.path)
        lines.add(Line("native" if expectation.line is None else f"{name}:{expectation.line}", expectation.what))
    return lines
