"""Made-up fleets: how long each rank takes for its own part of a step, minute by minute, with planted faults.

Ranks differ always, by an effect of their own that has one of several distributions, and from minute to minute. What
`turnpike fleet` takes for granted of this noise is not used here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

RANKS_OF_HOST = 8
OWN_NS = 90e6
MINUTES = 8
# From minute to minute a rank varies by a t3 of this, so at times by much more.
OF_MINUTE = 0.01
# A planted fault is never more than this part away from a stall in one minute.
SLOWEST_MINUTE = 0.5


def t3(draw: random.Random) -> float:
    """Student's t with three degrees of freedom: of 1,024, the largest is 10 in the median."""
    return draw.gauss(0, 1) / math.sqrt(draw.gammavariate(1.5, 2) / 3)


def _by_host(draw: random.Random, ranks: int) -> list[float]:
    of_host = [t3(draw) for _ in range(-(-ranks // RANKS_OF_HOST))]
    return [of_host[rank // RANKS_OF_HOST] + 0.5 * draw.gauss(0, 1) for rank in range(ranks)]


# What ranks differ by, in units of the spread.
EFFECTS: dict[str, Callable[[random.Random, int], list[float]]] = {
    "normal": lambda draw, ranks: [draw.gauss(0, 1) for _ in range(ranks)],
    "t3": lambda draw, ranks: [t3(draw) for _ in range(ranks)],
    "exponential": lambda draw, ranks: [draw.expovariate(1) for _ in range(ranks)],
    "t3 by host": _by_host,
}


def effects(kind: str, spread: float, ranks: int, seed: int) -> list[float]:
    """By which factor each rank is slower than usual; 1: not at all."""
    draw = random.Random(f"{kind} {ranks} {seed}")
    return [max(SLOWEST_MINUTE, 1 + spread * one) for one in EFFECTS[kind](draw, ranks)]


def minutes(of_rank: Iterable[float], seed: int) -> list[list[float]]:
    """The own part of a step in each minute, of each rank with these effects, in ns."""
    draw = random.Random(f"minutes {seed}")
    return [
        [OWN_NS * effect * max(SLOWEST_MINUTE, 1 + OF_MINUTE * t3(draw)) for _ in range(MINUTES)] for effect in of_rank
    ]


def hosts(ranks: int) -> dict[str, str]:
    """By the id of the rank."""
    return {str(rank): f"host{rank // RANKS_OF_HOST:03}" for rank in range(ranks)}


def with_fault(own: list[list[float]], slow: Iterable[int], slowness: float) -> dict[str, list[float]]:
    """By the id of the rank: these ranks take this part longer in every minute."""
    planted = set(slow)
    return {
        str(rank): [one * (1 + slowness) for one in parts] if rank in planted else parts
        for rank, parts in enumerate(own)
    }
