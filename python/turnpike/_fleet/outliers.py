"""Which of many figures differ from most of them: by the median and the median absolute deviation."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

# Of a normal distribution, whose standard deviation is so many times its median absolute deviation.
_SIGMA = 1.4826
# In normal noise, one of 10^9 figures lies this far from the median.
Z = 6.0
FEWEST = 4  # figures; a median of fewer is not used


@dataclass(frozen=True)
class Spread:
    """5th, 50th and 95th percentile of one figure over ranks, and of how many."""

    low: float
    median: float
    high: float
    count: int


@dataclass(frozen=True)
class Outlier:
    """A figure that differs, with its robust z: positive above the median, negative below."""

    key: str
    value: float
    z: float


def spread(values: list[float]) -> Spread:
    """Of at least one value."""
    ranked = sorted(values)
    last = len(ranked) - 1
    return Spread(ranked[round(0.05 * last)], statistics.median(ranked), ranked[round(0.95 * last)], len(ranked))


def find(values: Mapping[str, float], floor: float, least: float) -> list[Outlier]:
    """Those that lie Z deviations from the median, and at least `least` from it.

    floor: the deviation is taken for at least this, so that equal figures do not make outliers of tiny differences.
    """
    if len(values) < FEWEST:
        return []
    median = statistics.median(values.values())
    deviation = _SIGMA * statistics.median(abs(value - median) for value in values.values())
    scale = max(deviation, floor)
    found = [Outlier(key, value, (value - median) / scale) for key, value in values.items()]
    return [one for one in found if abs(one.z) > Z and abs(one.value - median) >= least]
