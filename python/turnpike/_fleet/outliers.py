"""Which of many figures differ from most of them, at a stated rate of false alarms.

What is usual is the median of the figures, and how far usual ones lie from it their median absolute deviation (MAD):
neither changes much with the ranks that differ. docs/howto/many_gpus.md says what this takes for granted.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from turnpike._fleet import student
from turnpike._fleet.thresholds import FEWEST, FREEDOM

# Of a normal distribution, whose standard deviation is so many times its median absolute deviation.
_SIGMA = 1.4826
# Beyond so many MADs a figure is far, when the weight of the tail is judged.
_FAR = 3.0
# Of equal figures, z takes this part of the least difference for their deviation: it must be a number.
_Z_OF_EQUAL = 0.001


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


def freedom_of(mads: list[float], allowed: float) -> int:
    """Student's degrees of freedom for the distances of figures on one side, in MADs.

    From the heaviest tail on, each is refused if it would show as few far figures as these at most this rarely. Ranks
    with a fault are far, so they can only make the tail look heavier.
    """
    far = sum(distance > _FAR for distance in mads)
    for freedom in FREEDOM[:-1]:
        part = 1 - student.within(_FAR * student.quantile(0.5, freedom), freedom)
        if _at_most(far, len(mads), part) > allowed:
            return freedom
    return FREEDOM[-1]


def _at_most(found: int, count: int, part: float) -> float:
    """The chance of at most so many of `count`, each of which is one with the chance `part`."""
    logarithms = (
        math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count - number + 1)
        + number * math.log(part) + (count - number) * math.log1p(-part) for number in range(found + 1)
    )  # fmt: skip
    return sum(math.exp(one) for one in logarithms)


@dataclass(frozen=True)
class Usual:
    """What is usual among figures, and from which distance on one of them is not.

    least: figures that lie less than this from the median never differ. false_alarms: the rate of sets of figures
    without a fault in which any is found on this side. Half of it is for the weight of the tail.
    """

    median: float
    mad: float
    farthest: float

    @staticmethod
    def of(values: list[float], side: int, least: float, false_alarms: float) -> Usual:
        median = statistics.median(values)
        distances = [side * (value - median) for value in values]
        mad = statistics.median_low([abs(distance) for distance in distances])
        if mad == 0:
            return Usual(median, mad, least)
        freedom = freedom_of([distance / mad for distance in distances if distance > 0], false_alarms / 2)
        mads = student.farthest(false_alarms / 2 / len(values), len(values), freedom)
        return Usual(median, mad, max(least, mads * mad))


def find(values: Mapping[str, float], least: float, false_alarms: float, side: int = 0) -> list[Outlier]:
    """Those that differ from the others; side: 1 only those above the median, -1 below, 0 both."""
    if len(values) < FEWEST:
        return []
    sides = (side,) if side else (1, -1)
    found = []
    for one in sides:
        usual = Usual.of(list(values.values()), one, least, false_alarms / len(sides))
        scale = max(_SIGMA * usual.mad, _Z_OF_EQUAL * least)
        found += [
            Outlier(key, value, (value - usual.median) / scale)
            for key, value in values.items()
            if one * (value - usual.median) >= usual.farthest
        ]
    return found


def find_by_host(
    values: Mapping[str, float], hosts: Mapping[str, str], least: float, false_alarms: float, side: int
) -> list[Outlier]:
    """The same for figures that ranks of one host have in common, such as times.

    A rank is compared with its host, and hosts with each other: ranks of a host are not as independent as `find`
    takes them to be. Where all hosts have too few ranks for that, ranks of different hosts are compared.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for key in values:
        members[hosts[key]].append(key)
    if len(members) == 1 or max(map(len, members.values())) == 1:
        return find(values, least, false_alarms, side)
    if max(map(len, members.values())) < FEWEST:
        return _find_in_small_hosts(values, members, least, false_alarms, side)
    usual_of = {host: statistics.median(values[key] for key in keys) for host, keys in members.items()}
    of_many = [key for keys in members.values() if len(keys) >= FEWEST for key in keys]
    # Against the others of its host: with its own figure in their median, most ranks would lie too near to it, and the
    # tail would look heavier than it is.
    beside = find(
        {key: values[key] - _median_of_others(key, members[hosts[key]], values) for key in of_many},
        least, false_alarms / 2, side,
    )  # fmt: skip
    slow_hosts = {one.key: one.z for one in find(usual_of, least, false_alarms / 2, side)}
    median = statistics.median(values.values())
    z_of = {one.key: one.z for one in beside}
    for key, value in values.items():
        if hosts[key] in slow_hosts and side * (value - median) >= least:
            z_of.setdefault(key, slow_hosts[hosts[key]])
    return [Outlier(key, values[key], z) for key, z in z_of.items() if side * (values[key] - median) >= least]


def _median_of_others(key: str, members: list[str], values: Mapping[str, float]) -> float:
    return statistics.median(values[other] for other in members if other != key)


def _find_in_small_hosts(
    values: Mapping[str, float], members: Mapping[str, list[str]], least: float, false_alarms: float, side: int
) -> list[Outlier]:
    """By the k-th rank of each host, for each k: among these, no two are of one host."""
    most = max(map(len, members.values()))
    found: dict[str, Outlier] = {}
    for number in range(most):
        level = {keys[number]: values[keys[number]] for keys in members.values() if len(keys) > number}
        for one in find(level, least, false_alarms / most, side):
            found.setdefault(one.key, one)
    return list(found.values())
