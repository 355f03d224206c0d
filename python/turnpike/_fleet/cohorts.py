"""Which ranks do the same, and so can be compared: those of one job, GPU model and role.

The role is told from what the recordings hold of a step: how many kernels, how many collectives, how many sends and
receives. Stages of a pipeline differ in these; ranks that only work on other data do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from turnpike._fleet.figures import Figures, Rank
from turnpike._fleet.thresholds import FEWEST, SAME_COUNT, SAME_WORK


@dataclass(frozen=True)
class Role:
    """What a rank of a cohort does in a step, at the median: numbers of kernels."""

    kernels: float
    collectives: float
    sends: float  # and receives


@dataclass(frozen=True)
class Cohort:
    """Ranks that are compared with each other; role None: the recordings hold no kernels, so it is not known."""

    job: str
    gpu: str | None
    role: Role | None
    ranks: dict[str, Rank]

    @property
    def is_compared(self) -> bool:
        """Whether there are enough ranks to tell what is usual among them."""
        return len(self.ranks) >= FEWEST

    def hosts(self) -> dict[str, str]:
        """The host of each rank; a rank of an unknown host is alone on it."""
        return {id: f"host {rank.host}" if rank.host else f"rank {id}" for id, rank in self.ranks.items()}


def jobs(figures: Figures) -> list[tuple[str, Rank]]:
    """All processes with the names of their jobs.

    A run that names no job is one by itself, but files of torch.profiler hold a rank each: those are one job which
    have the same process group, different ranks, and recorded at the same time. It goes by the first one's name.
    """
    named: list[tuple[str, Rank]] = []
    joined: list[list[Rank]] = []
    for rank in figures.all_ranks:
        if rank.job is not None or rank.process_group is None or rank.rank is None:
            named.append((rank.job or rank.run, rank))
            continue
        job = next((job for job in joined if all(_is_beside(rank, other) for other in job)), None)
        if job is None:
            job = []
            joined.append(job)
        job.append(rank)
        named.append((job[0].run, rank))
    return named


def _is_beside(a: Rank, b: Rank) -> bool:
    is_alike = (a.world_size, a.process_group) == (b.world_size, b.process_group) and a.rank != b.rank
    if a.start_ns is None or a.end_ns is None or b.start_ns is None or b.end_ns is None:
        return False
    return is_alike and a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def cohorts(figures: Figures) -> list[Cohort]:
    """All ranks with steps, each in one cohort; the largest first.

    Whoever compares runs that name no job takes them for ranks of one, if their world size is the same.
    """
    of_model: dict[tuple[str, int | None, str | None], list[Rank]] = defaultdict(list)
    for job, rank in jobs(figures):
        if rank.steps > 0:
            is_named = rank.job is not None or rank.process_group is not None
            of_model[job if is_named else "", rank.world_size, rank.gpu].append(rank)
    found = []
    for (job, _, gpu), ranks in of_model.items():
        for members in by_role(ranks):
            found.append(Cohort(job, gpu, _role(members), {rank.id: rank for rank in members}))
    return sorted(found, key=lambda one: (-len(one.ranks), one.job, one.gpu or "", int(next(iter(one.ranks)))))


def by_role(ranks: list[Rank]) -> list[list[Rank]]:
    """Ranks that run equally many kernels of each kind in a step; those without kernels are together."""
    known = [rank for rank in ranks if rank.kernel_count is not None]
    counts: tuple[Callable[[Rank], float], ...] = (
        lambda rank: (rank.kernel_count or 0) / rank.steps,
        lambda rank: (rank.collective_count or 0) / rank.steps,
        lambda rank: (rank.peer_count or 0) / rank.steps,
    )  # fmt: skip
    parts = [known]
    for count in counts:
        parts = [part for parent in parts for part in _alike(parent, count)]
    unknown = [rank for rank in ranks if rank.kernel_count is None]
    return [part for part in [*parts, unknown] if part]


def _alike(ranks: Iterable[Rank], count: Callable[[Rank], float]) -> list[list[Rank]]:
    """Parted where the next larger count is too far."""
    parts: list[list[Rank]] = []
    last = 0.0
    for rank in sorted(ranks, key=count):
        now = count(rank)
        if not parts or now - last > max(SAME_WORK * last, SAME_COUNT):
            parts.append([])
        parts[-1].append(rank)
        last = now
    return [sorted(part, key=lambda rank: int(rank.id)) for part in parts]


def _role(ranks: list[Rank]) -> Role | None:
    if ranks[0].kernel_count is None:
        return None
    middle = sorted(ranks, key=lambda rank: (rank.kernel_count or 0) / rank.steps)[len(ranks) // 2]
    parts = (middle.kernel_count or 0, middle.collective_count or 0, middle.peer_count or 0)
    return Role(*(part / middle.steps for part in parts))
