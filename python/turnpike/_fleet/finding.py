"""A finding: ranks that differ from those that do the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from turnpike._fleet.cohorts import Cohort
from turnpike._fleet.figures import Figures, Place, Rank
from turnpike._fleet.outliers import Outlier, Spread, spread
from turnpike._fleet.retime import Meetings
from turnpike._fleet.thresholds import MOST_OF_HOST


@dataclass(frozen=True)
class Finding:
    """Ranks that differ from the others of their cohort in one figure.

    z: robust z of the one that differs most. saving_ns: of a step, on all ranks if `saves_all`, else on these; None
    where it cannot be told. all_saving_ns: of a step on all ranks of the job, re-timed over them; None where they do
    not meet, or do so unseen.
    """

    rule: str
    title: str
    ranks: list[Rank]
    hosts: list[str]  # of which most ranks are among them
    unit: str
    z: float
    these: Spread
    others: Spread
    saving_ns: float | None
    saves_all: bool
    evidence: str
    site: str | None = None
    file: str | None = None
    line: int | None = None
    all_saving_ns: float | None = None


@dataclass(frozen=True)
class Search:
    """What a rule looks at. false_alarms: those that are left to this rule among these ranks."""

    figures: Figures
    meetings: Meetings
    cohort: Cohort
    false_alarms: float


@dataclass(frozen=True)
class Gain:
    """Of a step: on the ranks that differ, or on all of them if `saves_all`; and on all, re-timed over the ranks."""

    saving_ns: float | None
    all_saving_ns: float | None
    saves_all: bool = False


def make(
    search: Search, rule: str, title: str, values: Mapping[str, float], outliers: list[Outlier], unit: str,
    evidence: str, gain: Gain, place: Place | None = None,
) -> Finding:  # fmt: skip
    """Of figures by the id of a rank, and those among them that differ."""
    ids = {one.key for one in outliers}
    return Finding(
        rule, title, [rank for id, rank in search.cohort.ranks.items() if id in ids], _hosts_of(ids, search.cohort),
        unit, max((one.z for one in outliers), key=abs), spread([values[id] for id in ids]),
        spread([value for id, value in values.items() if id not in ids]), gain.saving_ns, gain.saves_all, evidence,
        place.key[0] if place else None, place.file if place else None, place.line if place else None,
        gain.all_saving_ns,
    )  # fmt: skip


def _hosts_of(ids: set[str], cohort: Cohort) -> list[str]:
    of_host = Counter(rank.host for rank in cohort.ranks.values() if rank.host)
    these = Counter(host for id in ids if (host := cohort.ranks[id].host))
    return sorted(host for host, count in these.items() if count > 1 and count >= MOST_OF_HOST * of_host[host])
