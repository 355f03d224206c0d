"""The tables behind the comparison, and what it found, as Parquet for other programs."""

from __future__ import annotations

import pathlib

from turnpike import _output_file
from turnpike._fleet.figures import Figures
from turnpike._fleet.findings import Finding

# By the names of their files; docs/howto/many_gpus.md has the columns.
_TABLES = {
    "ranks": """SELECT id, run, host, node, job, rank, pid, world_size, gpu, pci, gpu_node, pcie_generation, pcie_width,
        steps, step_ns, collective_ns, transfers FROM processes""",
    "minutes": "SELECT id, minute_ns, steps, own_ns FROM minutes",
    "sites": """SELECT id, what, site, file, line, direction, host_memory, "count", bytes, timed_bytes, device_time_ns,
        host_blocked_ns, exposed_ns, node_bytes, far_bytes FROM sites""",
    "findings": "SELECT * FROM findings",
}
_FINDINGS = """CREATE TABLE findings (finding INTEGER, id VARCHAR, rule VARCHAR, title VARCHAR, site VARCHAR,
    unit VARCHAR, z DOUBLE, these DOUBLE, others DOUBLE, saving_ns DOUBLE, saves_all_ranks BOOLEAN,
    all_ranks_saving_ns DOUBLE)"""


def write(folder: pathlib.Path, figures: Figures, found: list[Finding]) -> None:
    """Writes a file for each table into the folder, which is made. A finding has a row for each of its ranks."""
    folder.mkdir(parents=True, exist_ok=True)
    figures.rows(_FINDINGS)
    rows = [
        (number, rank.id, one.rule, one.title, one.site, one.unit, one.z, one.these.median, one.others.median,
         one.saving_ns, one.saves_all, one.all_saving_ns)
        for number, one in enumerate(found, 1) for rank in one.ranks
    ]  # fmt: skip
    figures.add("findings", rows)
    for name, query in _TABLES.items():
        with _output_file.whole(folder / f"{name}.parquet") as unfinished:
            path = unfinished.replace("'", "''")
            figures.rows(f"COPY ({query} ORDER BY ALL) TO '{path}' (FORMAT parquet)")
