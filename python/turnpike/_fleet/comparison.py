"""Everything that is compared: the findings, and among which ranks they were looked for."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from turnpike._fleet import places, splits, times
from turnpike._fleet.cohorts import Cohort, cohorts
from turnpike._fleet.figures import Figures, Rank
from turnpike._fleet.finding import Finding, Search
from turnpike._fleet.retime import Meetings
from turnpike._fleet.splits import Split
from turnpike._fleet.thresholds import FALSE_ALARMS, LEAST, RULES

_SEARCHES: dict[str, Callable[[Search], Iterator[Finding]]] = {
    "slow_rank": times.slow_rank,
    "drift": times.drift,
    "slow_link": places.slow_link,
    "wrong_pinning": places.wrong_pinning,
    "wrong_numa_node": places.wrong_numa_node,
    "diverging_code": places.diverging_code,
    "uneven_bytes": places.uneven_bytes,
}


@dataclass(frozen=True)
class Compared:
    """A cohort, and what could be told from it.

    own_ns: median of the ranks' own parts in a usual minute. slowest, slowness: the rank that is slowest, and by which
    part it is slower than the median, whether that is unusual or not. least_slowness: from which part on one would be
    named; None: too few ranks are compared. split: two parts of which neither is named.
    """

    cohort: Cohort
    own_ns: float
    slowest: Rank
    slowness: float
    least_slowness: float | None
    split: Split | None


@dataclass(frozen=True)
class Comparison:
    """What differs, most time first; and each cohort, the largest first."""

    findings: list[Finding]
    compared: list[Compared]

    @property
    def is_any_compared(self) -> bool:
        """Whether any rank had enough others beside it."""
        return any(one.cohort.is_compared for one in self.compared)


def compare(figures: Figures) -> Comparison:
    """The false alarms are divided evenly over the cohorts that are compared, and in each over the rules."""
    all_cohorts = cohorts(figures)
    meetings = Meetings(figures)
    number = sum(cohort.is_compared for cohort in all_cohorts)
    allowed = FALSE_ALARMS / max(1, number) / len(RULES)
    found: list[Finding] = []
    compared = []
    for cohort in all_cohorts:
        search = Search(figures, meetings, cohort, allowed)
        of_cohort = [one for rule in RULES for one in _SEARCHES[rule](search)] if cohort.is_compared else []
        one = _compared(search, of_cohort)
        compared.append(one)
        found += [finding for finding in of_cohort if not _is_of_split(finding, one)]
    return Comparison(_ordered(found, figures), compared)


def _ordered(found: list[Finding], figures: Figures) -> list[Finding]:
    def gain(one: Finding) -> tuple[float, float]:
        on_these = (one.saving_ns or 0) * (len(figures.ranks) if one.saves_all else len(one.ranks))
        return (on_these if one.all_saving_ns is None else one.all_saving_ns * len(figures.ranks), on_these)

    def name(one: Finding) -> tuple[str, str, list[str]]:
        return (one.rule, one.site or "", [rank.name() for rank in one.ranks])

    return sorted(sorted(found, key=name), key=gain, reverse=True)


def _compared(search: Search, found: list[Finding]) -> Compared:
    cohort = search.cohort
    minutes = times.own_parts(search.figures, cohort.ranks)
    values = times.usual_own({id: list(of_rank.values()) for id, of_rank in minutes.items()})
    median = statistics.median(values.values())
    slowest = max(values, key=lambda id: values[id])
    split = least = None
    if cohort.is_compared:
        least = times.least_slowness(values, search.false_alarms)
        split = _split(search, values, found)
    slowness = values[slowest] / median - 1 if median > 0 else 0.0
    return Compared(cohort, median, cohort.ranks[slowest], slowness, least, split)


def _split(search: Search, values: dict[str, float], found: list[Finding]) -> Split | None:
    """Several slow ranks whose role is not known may be those that have another one."""
    slow = {rank.id for one in found if one.rule == "slow_rank" for rank in one.ranks}
    if search.cohort.role is None and len(slow) > 1:
        return splits.parted(values, slow)
    return splits.find(values, LEAST["slow_rank"] * statistics.median(values.values()), search.false_alarms)


def _is_of_split(finding: Finding, compared: Compared) -> bool:
    if compared.split is None or finding.rule != "slow_rank":
        return False
    return {rank.id for rank in finding.ranks} <= set(compared.split.slower)
