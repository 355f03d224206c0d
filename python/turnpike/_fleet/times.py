"""Ranks that take longer for their own part of a step than those that do the same, always or more and more."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from turnpike._fleet import finding
from turnpike._fleet.figures import Figures
from turnpike._fleet.finding import Finding, Gain, Search
from turnpike._fleet.outliers import Outlier, Usual, find_by_host
from turnpike._fleet.retime import REMOVED
from turnpike._fleet.thresholds import LEAST

# A half of a recording needs so many minutes, or one stall decides what it is like.
_FEWEST_OF_HALF = 2

# By the id of a rank: the mean of its own part of a step, in ns, in each minute.
OwnParts = Mapping[str, Sequence[float]]


def own_parts(figures: Figures, ids: Mapping[str, object]) -> dict[str, dict[int, float]]:
    """Of these ranks, by minute."""
    of_rank: dict[str, dict[int, float]] = defaultdict(dict)
    for id, minute, steps, own_ns in figures.rows("SELECT id, minute_ns, steps, own_ns FROM minutes ORDER BY ALL"):
        if id in ids:
            of_rank[id][minute] = float(own_ns) / float(steps)
    return of_rank


def usual_own(own: OwnParts) -> dict[str, float]:
    """A rank's own part in its usual minute: one in which it stalls does not count."""
    return {id: statistics.median(minutes) for id, minutes in own.items()}


def slow(own: OwnParts, hosts: Mapping[str, str], false_alarms: float) -> list[Outlier]:
    """Ranks that are slower than the others in their usual minute, and in both halves of the recording."""
    values = usual_own(own)
    if not values:
        return []
    least = LEAST["slow_rank"]
    median = statistics.median(values.values())
    if median <= 0:
        return []
    relative = {id: value / median for id, value in values.items()}
    found = find_by_host(relative, hosts, least, false_alarms, side=1)
    halves = [usual_own({id: _half(minutes, number) for id, minutes in own.items()}) for number in (0, 1)]
    usual = [statistics.median(half.values()) for half in halves]
    return [
        Outlier(one.key, values[one.key], one.z)
        for one in found
        if all(half[one.key] >= (1 + least) * middle for half, middle in zip(halves, usual, strict=True))
    ]


def _half(minutes: Sequence[float], number: int) -> Sequence[float]:
    """All of a recording that is too short for halves."""
    middle = len(minutes) // 2
    return minutes if middle < _FEWEST_OF_HALF else minutes[middle:] if number else minutes[:middle]


def growth(own: OwnParts) -> dict[str, float]:
    """The last quarter of the minutes against the first one; the first and the last minute are not whole."""
    values = {}
    for id, minutes in own.items():
        whole = minutes[1:-1]
        quarter = len(whole) // 4
        before = statistics.median(whole[:quarter]) if quarter else 0.0
        if before > 0:
            values[id] = statistics.median(whole[-quarter:]) / before
    return values


def drifting(own: OwnParts, hosts: Mapping[str, str], false_alarms: float) -> list[Outlier]:
    """Ranks that get slower over time than the others do."""
    values = growth(own)
    return find_by_host(values, hosts, LEAST["drift"], false_alarms, side=1) if values else []


def slow_rank(search: Search) -> Iterator[Finding]:
    """A rank that gets slower over time is `drift`, and only that."""
    by_minute = own_parts(search.figures, search.cohort.ranks)
    own = {id: list(minutes.values()) for id, minutes in by_minute.items()}
    hosts = search.cohort.hosts()
    ids_of_drift = {one.key for one in drifting(own, hosts, search.false_alarms)}
    found = [one for one in slow(own, hosts, search.false_alarms) if one.key not in ids_of_drift]
    if not found:
        return
    values = usual_own(own)
    ids = {one.key for one in found}
    others = {id: value for id, value in values.items() if id not in ids}
    meets = any(search.cohort.ranks[id].collective_ns for id in values)
    # The slowest of the others is no faster than they are at the median: so with these like the others, or without.
    retimed = search.meetings.gain_ns(ids, lambda _, __: REMOVED)
    saving = max(values[id] for id in ids) - max(value for id, value in others.items() if id not in ids_of_drift)
    evidence = _evidence(search, others, meets) + _how_long(own, ids)
    gain = Gain(max(0.0, saving) if retimed is None else retimed, retimed, saves_all=meets)
    yield finding.make(search, "slow_rank", "takes longer for its own part of a step", values, found, "ns a step",
                       evidence, gain)  # fmt: skip


def _evidence(search: Search, others: Mapping[str, float], meets: bool) -> str:
    if not meets:
        return "no collectives were recorded: its own steps are longer"
    ranks = [search.cohort.ranks[id] for id in others]
    waits = statistics.median((rank.collective_ns or 0) / rank.steps for rank in ranks)
    return f"the other {len(others)} ranks spend {waits / 1e6:.2f} ms of a step in collectives, where they wait for it"


def _how_long(own: OwnParts, ids: set[str]) -> str:
    """Whether it lasts is not known of a short recording."""
    minutes = min(len(own[id]) for id in ids)
    if minutes >= 2 * _FEWEST_OF_HALF:
        return ""
    of = f"{minutes} minute" if minutes == 1 else f"{minutes} minutes"
    return f"; recorded for {of} only, so whether it lasts is not known"


def drift(search: Search) -> Iterator[Finding]:
    """The last quarter of the time against the first."""
    by_minute = own_parts(search.figures, search.cohort.ranks)
    own = {id: list(minutes.values()) for id, minutes in by_minute.items()}
    found = drifting(own, search.cohort.hosts(), search.false_alarms)
    if not found:
        return
    values = growth(own)
    parts = {one.key: one.value - 1 for one in found}
    before = {id: statistics.median(own[id][1:-1][: len(own[id][1:-1]) // 4]) for id in parts}
    saving = max(search.cohort.ranks[id].own_ns * part / 2 for id, part in parts.items())
    retimed = search.meetings.gain_ns(set(parts), lambda id, minute: max(0.0, by_minute[id][minute] - before[id]))
    yield finding.make(search, "drift", "gets slower over time", values, found, "times as long at the end",
                       "its own part of a step, the last quarter of the time against the first",
                       Gain(saving, retimed))  # fmt: skip


def least_slowness(values: Mapping[str, float], false_alarms: float) -> float:
    """By which part a rank must be slower than the median to be found beside these, host by host aside."""
    usual = Usual.of(list(values.values()), 1, LEAST["slow_rank"] * statistics.median(values.values()), false_alarms)
    return usual.farthest / usual.median if usual.median > 0 else LEAST["slow_rank"]
