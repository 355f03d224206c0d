"""What is said of a fleet beside what differs: ranks without a recording, and what recordings lost."""

from __future__ import annotations

from collections import defaultdict

from turnpike._fleet.cohorts import jobs
from turnpike._fleet.figures import Figures


def missing_ranks(figures: Figures) -> dict[str, list[int]]:
    """The ranks below the world size that have no recording, for each job."""
    seen: dict[str, set[int]] = defaultdict(set)
    size: dict[str, int] = defaultdict(int)
    for job, rank in jobs(figures):
        if rank.rank is not None:
            seen[job].add(rank.rank)
        size[job] = max(size[job], rank.world_size or 0)
    missing = {job: sorted(set(range(size[job])) - ranks) for job, ranks in seen.items()}
    return {job: ranks for job, ranks in missing.items() if ranks}


def losses(figures: Figures) -> list[tuple[str, int, int]]:
    """Each kind of loss with its count and how many processes have it."""
    query = """SELECT loss, sum("count"), count(DISTINCT process) FROM rollups JOIN files USING (filename)
        WHERE what = 'loss' GROUP BY loss ORDER BY loss"""
    return [(str(name), int(count), int(of)) for name, count, of in figures.rows(query)]
