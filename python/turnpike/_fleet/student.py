"""How likely a healthy rank lies so far from the others, if usual differences are distributed like Student's t.

The distance is measured in median absolute deviations of the ranks (MAD). The MAD of few ranks is uncertain itself: it
may be small by chance, so that usual ranks look far away. The chance is therefore a mean over all MADs that so many
ranks may have.
"""

from __future__ import annotations

import functools
import math

_POINTS = 300
# The points of the mean stand closer where the MAD is small: that is where false alarms come from.
_POWER = 4


def within(distance: float, freedom: int) -> float:
    """The chance that |t| is below the distance."""
    angle = math.atan(distance / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    first = 1 if freedom % 2 else 0
    term, total = (cosine, 0.0) if first else (1.0, 0.0)
    for power in range(first, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * cosine**2
    return 2 / math.pi * (angle + sine * total) if first else sine * total


def beyond(distance: float, freedom: int) -> float:
    """The chance that t lies above the distance."""
    return max(0.0, (1 - within(distance, freedom)) / 2)


@functools.cache
def quantile(part: float, freedom: int) -> float:
    """The distance within which |t| is with this chance."""
    low, high = 0.0, 1.0
    while within(high, freedom) < part:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < part else (low, middle)
    return high


@functools.cache
def _deviations(count: int, freedom: int) -> list[tuple[float, float]]:
    """The MADs that so many ranks may have, each with its weight.

    The lower median of the distances is an order statistic, and that of the one at the centre is 0.
    """
    below = max(1, (count + 1) // 2 - 1)
    above = count - below
    mean, deviation = below / count, math.sqrt(below * above / (count**2 * (count + 1)))
    low, high = (min(1.0, max(0.0, mean + sign * 8 * deviation)) ** (1 / _POWER) for sign in (-1, 1))
    logarithm = math.lgamma(count) - math.lgamma(below) - math.lgamma(above)
    found = []
    for number in range(_POINTS):
        at = low + (high - low) * (number + 0.5) / _POINTS
        part = at**_POWER
        density = math.exp(logarithm + (below - 1) * math.log(part) + (above - 1) * math.log1p(-part))
        found.append((quantile(part, freedom), density * _POWER * at ** (_POWER - 1) * (high - low) / _POINTS))
    return found


def chance(mads: float, count: int, freedom: int) -> float:
    """That a usual one of `count` ranks lies so many MADs above their median."""
    return sum(weight * beyond(mads * mad, freedom) for mad, weight in _deviations(count, freedom))


@functools.cache
def farthest(allowed: float, count: int, freedom: int) -> float:
    """The MADs beyond which a usual rank lies with this chance."""
    low, high = 0.0, 1.0
    while chance(high, count, freedom) > allowed:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle, count, freedom) > allowed else (low, middle)
    return high
