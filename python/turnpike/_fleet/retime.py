"""What a step of all ranks would gain if some of them lost less time: re-timed over the ranks.

Ranks that meet in collectives go on together, so a step lasts as long as the slowest rank's own part. A roll-up holds,
for each minute, how often the own part of a step took how long. What it lacks is which step was which. So within a
minute the ranks are taken to be slow independently of each other: the slowest of all is below x as often as every rank
is, and that is a product. docs/howto/many_gpus.md says what this cannot see.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from turnpike._fleet.figures import Figures

# By how much less a rank would do in a step of a minute, in ns; REMOVED: it is never the slowest.
Delay = Callable[[str, int], float]
REMOVED = math.inf
# 2^(1/128): as in the column own_parts of a roll-up.
_OF_DOUBLING = 128
# Of a job's ranks so many must have steps in a minute, or it says nothing of what all waited for.
_MOST_OF_JOB = 0.9
# Of the steps so many must lie in such minutes.
_MOST_OF_STEPS = 0.5

# A rank without a distribution is as slow in each step as in the mean of its minute. `increment` is what the logarithm
# of a rank's distribution function grows by at a bucket; at its first one, it comes from minus infinity.
_PREPARE = f"""
CREATE TABLE own_parts AS
WITH pairs AS (
  SELECT id, minute_ns, own_parts, unnest(range(1, len(own_parts), 2)) AS place FROM own_part_lists
), counts AS (
  SELECT id, minute_ns, own_parts[place] AS bucket, sum(own_parts[place + 1]) AS steps FROM pairs GROUP BY ALL
  UNION ALL
  SELECT id, minute_ns, CAST(floor({_OF_DOUBLING} * log2(greatest(own_ns / steps, 1))) AS INTEGER), steps FROM minutes
  WHERE steps > 0 AND NOT EXISTS (
    FROM own_part_lists l WHERE l.id = minutes.id AND l.minute_ns = minutes.minute_ns AND len(l.own_parts) > 0)
), sums AS (
  SELECT *, sum(steps) OVER (PARTITION BY id, minute_ns ORDER BY bucket) AS until,
    sum(steps) OVER (PARTITION BY id, minute_ns) AS steps_of_minute FROM counts
)
SELECT id, coalesce(p.job, '') AS job, minute_ns, bucket, sums.steps / steps_of_minute AS part, steps_of_minute,
  CASE WHEN until > sums.steps THEN ln(until / (until - sums.steps)) ELSE ln(until / steps_of_minute) END AS increment,
  CAST(until = sums.steps AS INTEGER) AS begins
FROM sums JOIN processes p USING (id);
"""


class Meetings:
    """The ranks of each job, which meet in every step."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._figures.rows(_PREPARE)
        self._jobs = self._find_jobs()
        # By job and minute: for each bucket the increments of all ranks, and how many of them begin there.
        self._growth: dict[tuple[str, int], dict[int, tuple[float, int]]] = defaultdict(dict)
        for job, minute, bucket, increment, begins in figures.rows(
            "SELECT job, minute_ns, bucket, sum(increment ORDER BY id), sum(begins) FROM own_parts GROUP BY ALL"
        ):
            self._growth[job, minute][bucket] = (float(increment), int(begins))

    def _find_jobs(self) -> dict[str, set[str]]:
        """The ranks of each job; jobs whose ranks do not meet, or do so unseen, are left out."""
        jobs: dict[str, set[str]] = defaultdict(set)
        for id, rank in self._figures.ranks.items():
            jobs[rank.job or ""].add(id)
        return {
            job: ids
            for job, ids in jobs.items()
            if len(ids) > 1 and all(self._figures.ranks[id].collective_ns for id in ids)
        }

    def gain_ns(self, ids: set[str], delay: Delay) -> float | None:
        """Of a step, what all ranks of a job gain if these lose their delay; of several jobs that which gains most.

        None: the ranks do not meet, or their clocks disagree by minutes.
        """
        gains = [
            self._gain_of_job(job, of_job & ids, delay) for job, of_job in self._jobs.items() if of_job & ids
        ]  # fmt: skip
        known = [gain for gain in gains if gain is not None]
        return max(known) if known else None

    def _gain_of_job(self, job: str, ids: set[str], delay: Delay) -> float | None:
        quoted = ", ".join(f"'{int(id)}'" for id in sorted(ids))
        own: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in self._figures.rows(
            f"SELECT minute_ns, id, bucket, part, increment, begins FROM own_parts WHERE id IN ({quoted}) ORDER BY ALL"
        ):
            own[row[0]].append(row[1:])
        gained = weights = all_steps = 0.0
        minutes = self._figures.rows(
            "SELECT minute_ns, avg(minutes.steps), count(*) FROM minutes JOIN processes USING (id) "
            f"WHERE coalesce(job, '') = {_quoted(job)} GROUP BY minute_ns ORDER BY minute_ns"
        )
        for minute, steps, ranks in minutes:
            all_steps += float(steps) * ranks
            if ranks < _MOST_OF_JOB * len(self._jobs[job]):
                continue
            weights += float(steps) * ranks
            if own[minute]:
                gained += float(steps) * ranks * self._gain_of_minute(job, minute, ranks, own[minute], delay)
        return gained / weights if weights > _MOST_OF_STEPS * all_steps else None

    def _gain_of_minute(self, job: str, minute: int, ranks: int, own: list[tuple[Any, ...]], delay: Delay) -> float:
        before = self._growth[job, minute]
        after = dict(before)
        for _, bucket, _, increment, begins in own:
            known = after[bucket]
            after[bucket] = (known[0] - increment, known[1] - begins)
        changed: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        removed = set()
        for id, bucket, part, _, _ in own:
            less = delay(id, minute)
            if less == REMOVED:
                removed.add(id)
            else:
                changed[id][_bucket(max(1.0, _middle(bucket) - less))] += part
        for parts in changed.values():
            until = 0.0
            for bucket in sorted(parts):
                known = after.get(bucket, (0.0, 0))
                increment = math.log((until + parts[bucket]) / until) if until else math.log(parts[bucket])
                after[bucket] = (known[0] + increment, known[1] + (0 if until else 1))
                until += parts[bucket]
        return max(0.0, _slowest(before, ranks) - _slowest(after, ranks - len(removed)))


def _slowest(growth: dict[int, tuple[float, int]], ranks: int) -> float:
    """What the slowest of so many ranks takes in the mean."""
    begun = 0
    logarithm = until = mean = 0.0
    for bucket in sorted(growth):
        increment, begins = growth[bucket]
        logarithm += increment
        begun += begins
        if begun == ranks:
            now = math.exp(min(0.0, logarithm))
            mean += (now - until) * _middle(bucket)
            until = now
    return mean


def _middle(bucket: int) -> float:
    return float(2 ** ((bucket + 0.5) / _OF_DOUBLING))


def _bucket(own_ns: float) -> int:
    return math.floor(_OF_DOUBLING * math.log2(own_ns))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
