"""Whether the ranks fall apart into two parts of like size, of which none is the usual one.

If all ranks differed by chance from one usual figure, the middle half of their figures would have no wide gap. A gap
that leaves out the part p of what is expected there is that wide at most m * (1 - p) ^ (m - 1) times, for m gaps.
Figures are taken to get rarer over the middle half by at most what those of an exponential distribution do: to a third.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from turnpike._fleet.thresholds import FEWEST

# An exponential distribution is so many times as dense at its lower quartile as at its upper one.
_RARER = 3.0


@dataclass(frozen=True)
class Split:
    """The ids of the slower and of the faster part, and by which part the former take longer at the median."""

    slower: list[str]
    faster: list[str]
    slowness: float


def find(values: Mapping[str, float], least: float, false_alarms: float) -> Split | None:
    """The widest gap in the middle half, if it is at least this wide and rarely is by chance."""
    ranked = sorted(values, key=lambda id: values[id])
    first, last = len(ranked) // 4, len(ranked) - 1 - len(ranked) // 4
    count = last - first
    if len(ranked) < FEWEST or count < 2:
        return None
    size, at = max((values[ranked[place + 1]] - values[ranked[place]], place) for place in range(first, last))
    width = size / (values[ranked[last]] - values[ranked[first]]) if size else 0.0
    part = (_RARER**width - 1) / (_RARER - 1)  # of what is expected in the middle half, where figures are rarest
    if size < least or count * (1 - part) ** (count - 1) > false_alarms:
        return None
    return parted(values, set(ranked[at + 1 :]))


def parted(values: Mapping[str, float], slower: set[str]) -> Split:
    """With these as the slower part."""
    faster = [id for id in values if id not in slower]
    middle = statistics.median(values[id] for id in slower), statistics.median(values[id] for id in faster)
    return Split([id for id in values if id in slower], faster, middle[0] / middle[1] - 1)
