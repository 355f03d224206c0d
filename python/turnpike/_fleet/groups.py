"""The ranks of a fleet, taken together by what they have in common: their host, GPU, NUMA node."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from turnpike._fleet.figures import Figures, Rank

# What `--by` takes, and what a rank has of it.
KEYS = {
    "host": lambda rank: rank.host,
    "rank": lambda rank: rank.rank,
    "numa": lambda rank: rank.gpu_node,
    "gpu": lambda rank: rank.gpu,
}


@dataclass(frozen=True)
class Group:
    """Ranks with the same values of the keys. Times are medians over the ranks, of a step."""

    values: tuple[str | int | None, ...]
    ranks: int
    step_ns: float
    own_ns: float  # without collectives
    slowest: Rank  # by its own part


def by(figures: Figures, keys: list[str]) -> list[Group]:
    """The groups, the slowest first."""
    members: dict[tuple[str | int | None, ...], list[Rank]] = defaultdict(list)
    for rank in figures.ranks.values():
        members[tuple(KEYS[key](rank) for key in keys)].append(rank)
    groups = [
        Group(
            values, len(ranks), statistics.median((rank.step_ns or 0) / rank.steps for rank in ranks),
            statistics.median(rank.own_ns for rank in ranks), max(ranks, key=lambda rank: rank.own_ns),
        )
        for values, ranks in members.items()
    ]  # fmt: skip
    return sorted(groups, key=lambda group: -group.own_ns)
