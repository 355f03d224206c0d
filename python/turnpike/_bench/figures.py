"""What is made of the values of each round: medians, quartiles, ratios, and whether a target is met."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

# Of these more is better; of everything else (times, memory) less.
MORE_IS_BETTER = ("GB/s", "%", "1/s")


@dataclasses.dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float
    samples: int


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value. The quartiles are inclusive: of two values they lie between them."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high, len(values))


def ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Round by round: what disturbs a shared machine for seconds disturbs both sides of a ratio."""
    return [value / other if other else math.nan for value, other in zip(values, others, strict=True)]


def speedup(unit: str, ratio: float) -> float:
    """How many times better, from a ratio of values."""
    if unit in MORE_IS_BETTER:
        return ratio
    return 1 / ratio if ratio else math.nan


@dataclasses.dataclass(frozen=True)
class Target:
    """What is asked of a way on an H100.

    kind: one of KINDS: about the ratio of the way's value to that of `against`, about the way's value minus that, or
    about the way's value. metric: "" is the case's own. text: the target in words.
    """

    way: str
    kind: str
    limit: float
    text: str
    against: str | None = None
    metric: str = ""

    def reached(self, values: Sequence[float], others: Sequence[float] | None) -> float:
        """The figure that the limit is about: a median."""
        if self.kind.startswith("value"):
            return spread(values).median
        if others is None:
            raise ValueError(f"{self.text}: nothing to compare with")
        if self.kind.startswith("ratio"):
            return spread(ratios(values, others)).median
        return spread([value - other for value, other in zip(values, others, strict=True)]).median

    def is_met(self, reached: float) -> bool:
        return reached >= self.limit if self.kind.endswith(">=") else reached <= self.limit


KINDS = ("ratio >=", "ratio <=", "difference <=", "value >=", "value <=")
