"""The known faults: for each a program that plain PyTorch runs right, and that showed the fault when it was found."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

MODULES = ("wrong_data", "storages", "in_the_way", "lifetimes", "loops", "nests")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One program, run in a process of its own."""

    name: str  # its number in the list of faults, and what it shows
    program: Callable[[Any, Any, Any], None]  # of the way, the log and the stage
    covered_by: str  # the operation of the random programs that comes upon the same
    environment: dict[str, str]
    is_alone: bool  # it measures times: nothing else runs meanwhile
    gpus: int
    timeout_s: float
    needs: tuple[str, ...]  # Python packages

    @property
    def number(self) -> str:
        return self.name.split("-", 1)[0]


_found: dict[str, Fault] = {}


def fault(
    name: str,
    covered_by: str,
    *,
    environment: dict[str, str] | None = None,
    is_alone: bool = False,
    gpus: int = 1,
    timeout_s: float = 90,
    needs: tuple[str, ...] = (),
) -> Callable[[Any], Any]:
    """Puts a function into the catalogue."""

    def add(program: Any) -> Any:
        assert name not in _found, name
        _found[name] = Fault(name, program, covered_by, environment or {}, is_alone, gpus, timeout_s, needs)
        return program

    return add


def all_faults() -> dict[str, Fault]:
    """The catalogue, by name."""
    for module in MODULES:
        importlib.import_module(f"catalogue.{module}")
    return dict(_found)
