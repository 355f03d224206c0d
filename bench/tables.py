#!/usr/bin/env python3
"""How long 10^7 rows of a table take, and how much memory: as a stream of Arrow, and as a Parquet file.

    bench/tables.py [SOURCE] [--rows N] [--rounds N] [--before FOLDER] [--out ...]

SOURCE is a recording of one process (default: examples/train-before-h100.tpk). Its records are repeated into a file of
some 20 MB, and that file stands for each process of a job that has N rows in all. The table `kernels` is of the whole
recording, `transfers` of one without kernels and launches, as `--detail transfers` makes it: so each is the time of a
run with that many rows. Every reading is a process of its own, which reads the run, makes the rows and takes them with
pyarrow; wall time, CPU time and peak memory are what the system says of it. The target is for the CPU time, which on
an idle machine is the wall time: on a shared one the latter also tells what else it does. The files were read before,
so the disk has no part in it. --before names the folder of an earlier build of the package, which takes turns with this
one: its median is the baseline.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ingest  # noqa: E402
import result_file  # noqa: E402

TARGET_S = 10.0
FILE_BYTES = 20_000_000
# Of a reading. The interpreter and pyarrow take 80 MB of it.
TARGET_MB = 500.0

READ = """
import json, resource, sys, time
import pyarrow, pyarrow.parquet
from turnpike._table import Table
run, name, path = sys.argv[1:]
wall, cpu = time.perf_counter(), time.process_time()
table = Table([run], name)
if path:
    table.to_parquet(path)
    rows = None
else:
    rows = sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(table))
taken = {"wall time": time.perf_counter() - wall, "CPU time": time.process_time() - cpu}
if path:
    rows = pyarrow.parquet.ParquetFile(path).metadata.num_rows
print(json.dumps({**taken, "peak memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, "rows": rows}))
"""


def traces() -> Any:
    """bench/html.py, which writes traces again. Its name is also one of the standard library."""
    spec = importlib.util.spec_from_file_location("bench_html", HERE / "html.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_kernels(source: pathlib.Path, path: pathlib.Path) -> None:
    """The recording without its kernels and the calls that launched them."""
    trace = traces()
    header, chunks = trace.chunks_of(source.read_bytes())
    launches = {
        struct.unpack_from("<I", data, trace.CORRELATION[kind])[0]
        for what, payload in chunks if what == trace.RECORDS
        for kind, data in trace.records_of(payload) if kind == trace.KERNEL
    }  # fmt: skip
    with open(path, "wb") as file:
        file.write(header)
        for what, payload in chunks:
            if what == trace.RECORDS:
                payload = b"".join(
                    data
                    for kind, data in trace.records_of(payload)
                    if kind != trace.KERNEL
                    and not (
                        kind == trace.CALL and struct.unpack_from("<I", data, trace.CORRELATION[kind])[0] in launches
                    )
                )
            file.write(trace.chunk(what, payload))


def read(run: pathlib.Path, table: str, parquet: str = "", package: str | None = None) -> dict[str, float]:
    command = [sys.executable, "-c", READ, str(run), table, parquet]
    environment = {**os.environ, "PYTHONPATH": package} if package else None
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def job_of(one: pathlib.Path, run: pathlib.Path, table: str, rows: int) -> int:
    """Copies a process until the run has so many rows. Gives the number of processes."""
    run.mkdir()
    first = run / "1.tpt"
    shutil.copy(one, first)
    count = math.ceil(rows / read(run, table)["rows"])
    for number in range(2, count + 1):
        shutil.copy(one, run / f"{number}.tpt")
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=HERE.parent / "examples" / "train-before-h100.tpk")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default=str(HERE / "results" / "tables-cpu.json"))
    parser.add_argument("--before", metavar="FOLDER", help="an earlier build of the package, to compare with")
    arguments = parser.parse_args()
    (source,) = pathlib.Path(arguments.source).glob("*.tpt")
    rows = []
    for table in ("kernels", "transfers"):
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(table, source, pathlib.Path(folder), arguments)
    for row in rows:
        print(f"{row['case']:44} {row['metric']:12} {row['value']:10.2f} {row['unit']:4} {row['spread']} {row['met']}")
    more = {"machine": f"shared {os.cpu_count()}-core", "cores": os.cpu_count(), "load_average": os.getloadavg()[:2]}
    result_file.write(arguments.out, "tables", rows, **more)


def measured(table: str, source: pathlib.Path, folder: pathlib.Path, arguments: argparse.Namespace) -> list[Any]:
    one = folder / "one.tpt"
    if table == "transfers":
        without_kernels(source, folder / "source.tpt")
        source = folder / "source.tpt"
    traces().repeated(source, one, FILE_BYTES)
    processes = job_of(one, folder / "job.tpk", table, arguments.rows)
    rows = []
    for what, parquet in (("Arrow stream", ""), ("Parquet file", str(folder / "table.parquet"))):
        samples, before = [], []
        for _ in range(arguments.rounds):
            if arguments.before:
                before.append(read(folder / "job.tpk", table, parquet, arguments.before))
            samples.append(read(folder / "job.tpk", table, parquet))
        more = {"rows": samples[0]["rows"], "processes": processes, "trace_mb": processes * one.stat().st_size / 1e6}
        if parquet:
            more["file_mb"] = os.path.getsize(parquet) / 1e6
        for metric, unit, target in (
            ("CPU time", "s", TARGET_S),
            ("wall time", "s", None),
            ("peak memory", "MB", TARGET_MB),
        ):
            values = [sample[metric] for sample in samples]
            value = statistics.median(values)
            met = None if target is None else value <= target
            was = statistics.median(sample[metric] for sample in before) if before else None
            rows.append(
                result_file.row(f"{table}, {samples[0]['rows']:.0f} rows, {what}", metric, unit, value,
                                spread=ingest.interval(values), samples=len(values), target=target, met=met,
                                baseline="the build before" if before else None, baseline_value=was, **more)
            )  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
