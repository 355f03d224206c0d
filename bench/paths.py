#!/usr/bin/env python3
"""How fast, and in how much memory, a recording whose copies have a million different call paths becomes a report.

    bench/paths.py --turnpike PATH --path-traces PATH --ingest-memory PATH [--before PATH] [--paths N...] [--out ...]

The recordings are made up (`path_traces`): one copy a path, 17 frames a stack. Each report is made in a process of its
own, the CPU time and the peak memory of which are what the system says; the programs take turns. The peak of the
analysis is compared with what is kept of the file when its end is reached, as in bench/ingest.py. --before names an
earlier `turnpike`: it is measured once, with the fewest paths, because it may take gigabytes.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ingest  # noqa: E402
import result_file  # noqa: E402

FORMS = {"text": ["report"], "JSON": ["report", "--json"]}


def rows_of_form(
    form: str, case: str, trace: pathlib.Path, arguments: argparse.Namespace, is_first: bool
) -> list[dict[str, Any]]:
    """The rate and the memory of one kind of report."""
    size_mb = trace.stat().st_size / 1e6
    samples = [
        ingest.measured([arguments.turnpike, *FORMS[form], str(trace)], arguments.cpu) for _ in range(arguments.rounds)
    ]
    before = None
    if arguments.before and is_first:
        before = ingest.measured([arguments.before, *FORMS[form], str(trace)], arguments.cpu)
    rates = [size_mb / sample["cpu"] for sample in samples]
    memory = [sample["memory"] for sample in samples]
    rate = statistics.median(rates)
    compared = {"baseline": "the build before" if before else None, "samples": len(samples)}
    return [
        result_file.row(
            f"{case}, {form}", "file per CPU time", "MB/s", rate, spread=ingest.interval(rates),
            baseline_value=size_mb / before["cpu"] if before else None, target=ingest.TARGET_MB_PER_S,
            met=rate >= ingest.TARGET_MB_PER_S, file_mb=size_mb, **compared,
        ),
        result_file.row(
            f"{case}, {form}", "peak memory", "MB", statistics.median(memory), spread=ingest.interval(memory),
            baseline_value=before["memory"] if before else None, **compared,
        ),
    ]  # fmt: skip


def memory_row(case: str, small: pathlib.Path, trace: pathlib.Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """The peak of reading and analyzing over what is kept of the file."""
    command = [arguments.ingest_memory, str(small), str(trace)]
    counted = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    peak_mb, kept_mb = counted["peak_bytes"] / 1e6, counted["kept_while_reading_bytes"] / 1e6
    return result_file.row(
        case, "peak memory beyond the program's own", "MB", peak_mb, baseline="kept at the end of the file",
        baseline_value=kept_mb, target=ingest.TARGET_PEAK_OF_KEPT, met=peak_mb <= ingest.TARGET_PEAK_OF_KEPT * kept_mb,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turnpike", default="turnpike")
    parser.add_argument("--path-traces", required=True, help="the program of that name, a target of the build")
    parser.add_argument("--ingest-memory", required=True, help="the same")
    parser.add_argument("--before", help="an earlier turnpike")
    parser.add_argument("--paths", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", type=int, default=0, help="the core that everything runs on")
    parser.add_argument("--out", default=str(HERE / "results" / "paths-cpu.json"))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="paths-") as folder:
        small, trace = pathlib.Path(folder, "small.tpt"), pathlib.Path(folder, "trace.tpt")
        subprocess.run([arguments.path_traces, str(small), "1000"], check=True)
        for number, paths in enumerate(sorted(arguments.paths)):
            subprocess.run([arguments.path_traces, str(trace), str(paths)], check=True)
            case = f"{paths:,} paths"
            for form in FORMS:
                rows += rows_of_form(form, case, trace, arguments, number == 0)
            rows.append(memory_row(case, small, trace, arguments))
    for row in rows:
        print(f"{row['case']:24} {row['metric']:36} {row['value']:10.1f} {row['unit']:5} met: {row['met']}", end=" ")
        print(f"{row['baseline']}: {row['baseline_value']:.1f}" if row["baseline"] else "")
    programs = ("--turnpike", "turnpike", "--path-traces", "path_traces", "--ingest-memory", "ingest_memory")
    more = {"machine": f"shared {os.cpu_count()}-core", "cores": os.cpu_count(), "load_average": os.getloadavg()[:2]}
    result_file.write(arguments.out, "paths", rows, ["python", "bench/paths.py", *programs], **more)


if __name__ == "__main__":
    main()
