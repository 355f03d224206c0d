"""What a fleet may be like: the table [fleet] of a turnpike.toml."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from turnpike import _toml
from turnpike._core import Error
from turnpike._fleet.comparison import Compared, Comparison
from turnpike._fleet.thresholds import RULES

KEYS = ("max_rank_spread_pct", "max_missing_ranks", "max_unreadable", "forbid")


class BadBudget(Exception):
    """The file cannot be used, and why."""


@dataclass(frozen=True)
class Limit:
    """One limit, and what it was compared with."""

    name: str
    most: float
    found: float
    is_kept: bool
    what: str


@dataclass(frozen=True)
class Budget:
    """The limits of a file; None: not limited."""

    max_rank_spread_pct: float | None = None
    max_missing_ranks: int | None = None
    max_unreadable: int | None = None
    forbid: tuple[str, ...] | None = None


def read(path: str) -> Budget:
    """The table [fleet] of a file.

    Raises:
        BadBudget: The file is not there, or no TOML; has no table [fleet], an unknown key, or a value of another kind.
    """
    try:
        table = _toml.load(path).get("fleet")
    except (OSError, ValueError, Error) as error:
        raise BadBudget(f"{path}: {error}") from error
    if not isinstance(table, dict) or not table:
        raise BadBudget(f"{path}: there is no table [fleet] with limits, such as max_rank_spread_pct = 10.")
    for key, value in table.items():
        if key not in KEYS:
            raise BadBudget(f"{path}: [fleet] has no key {key!r}. It has {', '.join(KEYS)}.")
        if key == "forbid":
            if not isinstance(value, list) or not all(rule in RULES for rule in value):
                raise BadBudget(f"{path}: [fleet] {key} is a list of rules: {', '.join(RULES)}.")
            continue
        kinds = (int, float) if key.endswith("_pct") else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds) or value < 0:
            kind = "number" if key.endswith("_pct") else "whole number"
            raise BadBudget(f"{path}: [fleet] {key} is a {kind}, 0 or more.")
    forbidden = table.pop("forbid", None)
    return Budget(**table, forbid=None if forbidden is None else tuple(forbidden))


def _spread_pct(compared: list[Compared]) -> float:
    """By how much the slowest rank's own part of a step exceeds the median of those that do the same, at most."""
    most = 0.0
    for one in compared:
        own = [rank.own_ns for rank in one.cohort.ranks.values()]
        median = statistics.median(own)
        most = max(most, 100 * (max(own) / median - 1) if median > 0 else 0.0)
    return most


def judge(budget: Budget, comparison: Comparison, missing: int, unreadable: int) -> list[Limit]:
    """Each limit of the budget, kept or not."""
    limits = []
    if budget.max_rank_spread_pct is not None:
        spread = _spread_pct(comparison.compared)
        most = budget.max_rank_spread_pct
        what = f"the slowest rank's own part of a step is {spread:.1f} % above the median; at most {most:g} %"
        limits.append(Limit("max_rank_spread_pct", most, spread, spread <= most, what))
    for name, most_of_it, count in (
        ("max_missing_ranks", budget.max_missing_ranks, missing),
        ("max_unreadable", budget.max_unreadable, unreadable),
    ):
        if most_of_it is not None:
            limits.append(Limit(name, most_of_it, count, count <= most_of_it, f"{count}; at most {most_of_it}"))
    for rule in budget.forbid or ():
        count = sum(one.rule == rule for one in comparison.findings)
        limits.append(Limit(f"forbid: {rule}", 0, count, count == 0, f"{count} found"))
    return limits
