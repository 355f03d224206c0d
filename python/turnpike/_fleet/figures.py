"""One figure for each rank, from the roll-ups, by DuckDB."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MEMORY = "700MB"

# Per process; `id` is its number. A process counts as a rank when it moved data or made steps: a worker of a loader is
# none, though it has the rank of its parent.
#
# Roll-ups of one process that follow each other in time are parts of it, such as those of several recordings by
# `turnpike attach`: they go by the name of the first. Overlapping ones are of several processes that look alike, e.g.
# in containers that number their processes and hosts alike; a tenth may overlap: the GPU is later than the calls.
_PREPARE = """
CREATE TABLE files AS
WITH spans AS (
  SELECT filename, min(host) AS host, min(pid) AS pid, min(rank) AS rank, min(job) AS job,
    CASE WHEN min(job) IS NULL THEN min(run) END AS run,
    min(start_ns) AS start_ns, min(start_ns) + max(span_ns) AS end_ns
  FROM rollups GROUP BY filename
), ordered AS (
  SELECT *, lag(end_ns) OVER same AS before_ns, lag(end_ns - start_ns) OVER same AS span_before_ns FROM spans
  WINDOW same AS (PARTITION BY host, pid, rank, job, run ORDER BY start_ns)
)
SELECT filename, CASE
  WHEN bool_and(start_ns IS NOT NULL AND host IS NOT NULL
    AND coalesce(before_ns - start_ns <= least(end_ns - start_ns, span_before_ns) / 10, true))
    OVER (PARTITION BY host, pid, rank, job, run)
  THEN min(filename) OVER (PARTITION BY host, pid, rank, job, run) ELSE filename END AS process
FROM ordered;
CREATE TABLE processes AS
SELECT CAST(row_number() OVER (ORDER BY filename) AS VARCHAR) AS id, * FROM (
  SELECT process AS filename, min(run) AS run, min(host) AS host, min(node) AS node,
    min(job) AS job, min(rank) AS rank, min(pid) AS pid, min(process_group) AS process_group,
    min(start_ns) AS start_ns, max(start_ns + span_ns) AS end_ns, max(world_size) AS world_size,
    max(gpu) AS gpu, max(pci) AS pci,
    max(gpu_node) AS gpu_node, max(pcie_generation) AS pcie_generation, max(pcie_width) AS pcie_width,
    coalesce(sum("count") FILTER (what = 'step'), 0) AS steps, sum(step_ns) AS step_ns,
    sum(collective_ns) AS collective_ns, sum(kernel_count) AS kernel_count,
    sum(collective_count) AS collective_count, sum(peer_count) AS peer_count,
    coalesce(sum("count") FILTER (what = 'transfer'), 0) AS transfers
  FROM rollups JOIN files USING (filename) GROUP BY process
);
CREATE TABLE sites AS
SELECT p.id, what, site, min(file) AS file, min(line) AS line, coalesce(direction, what) AS direction, host_memory,
  p.gpu, p.steps, sum("count") AS "count", sum(bytes) AS bytes, sum(timed_bytes) AS timed_bytes,
  sum(device_time_ns) AS device_time_ns, sum(host_blocked_ns) AS host_blocked_ns, sum(exposed_ns) AS exposed_ns,
  sum(node_bytes) AS node_bytes, sum(far_bytes) AS far_bytes
FROM rollups JOIN files USING (filename) JOIN processes p ON process = p.filename
WHERE what IN ('transfer', 'sync') AND p.steps > 0
GROUP BY ALL;
CREATE TABLE own_part_lists AS
SELECT p.id, minute_ns, own_parts
FROM rollups JOIN files USING (filename) JOIN processes p ON process = p.filename
WHERE what = 'step' AND p.steps > 0 AND own_parts IS NOT NULL;
CREATE TABLE minutes AS
SELECT p.id, minute_ns, sum("count") AS steps,
  sum(rollups.step_ns) - coalesce(sum(rollups.collective_ns), 0) AS own_ns
FROM rollups JOIN files USING (filename) JOIN processes p ON process = p.filename WHERE what = 'step' GROUP BY ALL;
"""
_COLUMNS = """filename, run, host, node, job, rank, pid, world_size, gpu, pci, gpu_node, pcie_generation, pcie_width,
what, minute_ns, loss, site, file, line, direction, host_memory, "count", bytes, timed_bytes, device_time_ns,
host_blocked_ns, exposed_ns, node_bytes, far_bytes, step_ns, collective_ns"""
# What roll-ups of earlier versions lack.
_NEW_COLUMNS = {
    "own_parts": "INTEGER[]", "start_ns": "BIGINT", "span_ns": "BIGINT", "process_group": "VARCHAR",
    "kernel_count": "BIGINT", "collective_count": "BIGINT", "peer_count": "BIGINT",
}  # fmt: skip


class MissingDuckDB(Exception):
    """DuckDB is not installed."""


@dataclass(frozen=True)
class Rank:
    """A process that is compared, or one that is not because it made no steps."""

    id: str
    run: str
    host: str | None
    job: str | None
    rank: int | None
    pid: int
    world_size: int | None
    gpu: str | None
    pci: str | None
    gpu_node: int | None
    pcie_generation: int | None
    pcie_width: int | None
    steps: int
    step_ns: int | None
    collective_ns: int | None
    transfers: int
    process_group: str | None = None  # what torch.profiler says of it, of which a job has the same on all ranks
    start_ns: int | None = None
    end_ns: int | None = None
    kernel_count: int | None = None  # of all steps, without those that communicate; None: no kernels were recorded
    collective_count: int | None = None
    peer_count: int | None = None  # sends and receives

    @property
    def own_ns(self) -> float:
        """Of a step, without the time in communication: that includes the wait for other ranks."""
        return ((self.step_ns or 0) - (self.collective_ns or 0)) / self.steps

    def name(self) -> str:
        """As the text calls it."""
        who = f"rank {self.rank}" if self.rank is not None else f"process {self.pid}"
        return f"{who} on {self.host}" if self.host else who


class Figures:
    """The roll-ups in DuckDB's memory, of which it takes at most 700 MB."""

    def __init__(self, files: Sequence[pathlib.Path]) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingDuckDB from error
        self._errors = duckdb.Error
        self.unreadable: list[str] = []
        self._database = duckdb.connect(":memory:", config={"memory_limit": _MEMORY, "threads": os.cpu_count() or 1})
        self._load(list(files))
        self._database.execute(_PREPARE)
        columns = ", ".join(Rank.__dataclass_fields__)
        self.all_ranks = [Rank(*row) for row in self.rows(f"SELECT {columns} FROM processes ORDER BY filename")]
        self.ranks = {rank.id: rank for rank in self.all_ranks if rank.steps > 0}
        self._places: dict[tuple[str, str, str], list[Place]] = {}

    def _load(self, files: list[pathlib.Path]) -> None:
        try:
            self._create(files)
        except self._errors:
            # One that is cut off must not keep the others.
            good = [file for file in files if self._is_readable(file)]
            if not good:
                raise
            self._create(good)

    def _create(self, files: list[pathlib.Path]) -> None:
        source = "read_parquet(?, filename = true, union_by_name = true)"
        names = [[str(file) for file in files]]
        held = {row[0] for row in self._database.execute(f"DESCRIBE SELECT * FROM {source}", names).fetchall()}
        new = [name if name in held else f"CAST(NULL AS {kind}) AS {name}" for name, kind in _NEW_COLUMNS.items()]
        self._database.execute(f"CREATE TABLE rollups AS SELECT {', '.join([_COLUMNS, *new])} FROM {source}", names)

    def _is_readable(self, file: pathlib.Path) -> bool:
        try:
            self._database.execute(f"SELECT {_COLUMNS} FROM read_parquet(?, filename = true)", [str(file)]).fetchall()
        except self._errors as error:
            self.unreadable.append(f"{file} is no roll-up: {str(error).splitlines()[0]}")
            return False
        return True

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query over the tables `processes`, `sites` and `minutes`.

        DuckDB's threads bring rows, and add doubles, in any order: a query whose order matters says it.
        """
        return self._database.execute(query).fetchall()

    def add(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Puts rows into a table."""
        if rows:
            self._database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def by_place(self, value: str, keys: str = "site, direction", where: str = "true") -> list[Place]:
        """`value`, an expression over `sites`, for each rank, place by place. The answer is kept."""
        asked = (value, keys, where)
        if asked not in self._places:
            self._places[asked] = self._find_by_place(*asked)
        return self._places[asked]

    def _find_by_place(self, value: str, keys: str, where: str) -> list[Place]:
        query = f"""
            SELECT {keys}, min(file), min(line), id, {value} FROM sites WHERE {where}
            GROUP BY {keys}, id, steps HAVING {value} IS NOT NULL ORDER BY {keys}, id"""
        width = len(keys.split(","))
        places: dict[tuple[Any, ...], Place] = {}
        for row in self.rows(query):
            place = places.setdefault(row[:width], Place(row[:width], row[width], row[width + 1], {}))
            place.values[row[width + 2]] = float(row[width + 3])
        return list(places.values())


@dataclass(frozen=True)
class Place:
    """A figure of each rank at one line of the program."""

    key: tuple[Any, ...]  # of the columns by which it was grouped; the first is the site
    file: str | None
    line: int | None
    values: dict[str, float]  # by the id of the rank
