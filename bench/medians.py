"""Medians with their spread: what the harnesses say about several measurements of one thing."""

from __future__ import annotations

import random
import statistics


def interval(values: list[float], resamples: int = 1000) -> list[float]:
    """The 95 % interval of the median, by bootstrap."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    return [round(medians[resamples // 40], 2), round(medians[-resamples // 40], 2)]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
