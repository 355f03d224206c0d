#!/usr/bin/env python3
"""How fast recordings of a large job become roll-ups, how fast `turnpike fleet` compares these, and what it finds.

    bench/fleet.py [--ranks N] [--minutes N] [--program FILE] [--out ...]
    bench/fleet.py --curves [--seeds N] [--out ...]        what is found in made-up fleets, see fleet_curves.py

fleet_traces (built with the tests) makes each rank's trace from a real recording and plants a fault of each kind. A
trace is removed once it is rolled up, so the disk holds few of them. The map's rate is bytes of trace by CPU time of
`turnpike rollup`, which is that of one core; wall time also tells what else a shared machine does. Memory is that of
the largest process.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fleet_curves  # noqa: E402
import fleet_job  # noqa: E402
import fleet_noise  # noqa: E402
import result_file  # noqa: E402
import turnpike_command  # noqa: E402

STEPS_A_MINUTE = 600
TARGET_MB_A_SECOND = 150.0
TARGET_REDUCE_S = 5.0
TARGET_MEMORY_MB = 1000.0
TARGET_ROLLUP_KB = 100.0
REDUCTIONS = 5
# What the own parts of healthy ranks differ by: the distribution and its spread.
EFFECT = ("normal", 0.005)


def taken(command: list[str], **options: Any) -> tuple[dict[str, float], bytes]:
    """CPU and wall seconds and peak MB of a process and its children, and what it printed. Raises when it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[:3]}: exit code {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"cpu": cpu, "wall": time.perf_counter() - began, "mb": usage.ru_maxrss / 1000}, printed


def map_rank(program: pathlib.Path, folder: pathlib.Path, rank: int, words: list[str]) -> dict[str, float]:
    trace = fleet_job.write_rank(program, folder / "traces", rank, words)
    size = trace.stat().st_size
    rollup = [turnpike_command.executable(), "rollup", str(trace.parent), "-o", str(folder / "rollups")]
    figures, _ = taken(rollup)
    shutil.rmtree(trace.parent)
    return {**figures, "bytes": size}


# What is found: the rule, the line, and the ranks of each finding.
Found = list[tuple[str, str | None, tuple[int, ...]]]


def expected(ranks: int) -> Found:
    """One finding of each rule, with its ranks and line."""
    return sorted(
        (rule, fleet_job.LINES[rule], tuple(sorted(of_rank))) for rule, of_rank in fleet_job.planted(ranks).items()
    )


def found(report: dict[str, Any]) -> Found:
    return sorted(
        (one["rule"], one["site"], tuple(sorted(rank["rank"] for rank in one["ranks"]))) for one in report["findings"]
    )


def spread(values: list[float]) -> list[float]:
    return [min(values), max(values)]


def measure(ranks: int, minutes: int, program: pathlib.Path, folder: pathlib.Path) -> list[dict[str, Any]]:
    faults: dict[int, dict[str, Any]] = {}
    for of_rule in fleet_job.planted(ranks).values():
        for rank, fault in of_rule.items():
            faults.setdefault(rank, {}).update(fault)
    for rank, effect in enumerate(fleet_noise.effects(*EFFECT, ranks, seed=1)):
        of_rank = faults.setdefault(rank, {})
        of_rank["own"] = of_rank.get("own", 1) * effect

    def one(rank: int) -> dict[str, float]:
        words = fleet_job.arguments(rank, ranks, 1, minutes * STEPS_A_MINUTE, faults)
        return map_rank(program, folder, rank, words)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        mapped = list(pool.map(one, range(ranks)))
    command = [sys.executable, "-m", "turnpike", "fleet", str(folder / "rollups"), "--json"]
    reductions, reports = [], []
    for _ in range(REDUCTIONS):
        figures, printed = taken(command)
        reductions.append(figures)
        reports.append(json.loads(printed))
    if any(report != reports[0] for report in reports):
        raise RuntimeError("the same roll-ups have several answers")
    planted, seen = expected(ranks), found(reports[0])
    right = [one for one in seen if one in planted]
    print(f"found {seen}\nplanted {planted}", file=sys.stderr)
    kind, part = EFFECT
    case = f"{ranks} ranks of {minutes} minutes, which differ by {100 * part:g} % ({kind})"
    rates = [one["bytes"] / 1e6 / one["cpu"] for one in mapped]
    sizes = [file.stat().st_size / 1e3 for file in (folder / "rollups").iterdir()]
    walls = [one["wall"] for one in reductions]
    memory = max([one["mb"] for one in mapped + reductions])
    rate, wall, size = statistics.median(rates), statistics.median(walls), statistics.median(sizes)

    def row(metric: str, unit: str, value: float, values: list[float], target: float | None, met: bool | None) -> Any:
        return result_file.row(case, metric, unit, value, spread=spread(values), samples=len(values), target=target,
                               met=met)  # fmt: skip

    return [
        row("trace of a rank", "MB", statistics.median(one["bytes"] / 1e6 for one in mapped),
            [one["bytes"] / 1e6 for one in mapped], None, None),
        row("roll-up of a rank", "kB", size, sizes, TARGET_ROLLUP_KB, size <= TARGET_ROLLUP_KB),
        row("map, of a core", "MB/s", rate, rates, TARGET_MB_A_SECOND, rate >= TARGET_MB_A_SECOND),
        row("reduction, wall time", "s", wall, walls, TARGET_REDUCE_S, wall <= TARGET_REDUCE_S),
        row("reduction, CPU time", "s", statistics.median(one["cpu"] for one in reductions),
            [one["cpu"] for one in reductions], None, None),
        row("peak memory of a process", "MB", memory, [one["mb"] for one in mapped + reductions], TARGET_MEMORY_MB,
            memory <= TARGET_MEMORY_MB),
        result_file.row(case, "planted faults found with rule, line and ranks", "findings", float(len(right)),
                        target=float(len(planted)), met=len(right) == len(planted)),
        result_file.row(case, "other findings", "findings", float(len(seen) - len(right)), target=0.0,
                        met=len(seen) == len(right)),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024, help="at least 64")
    parser.add_argument("--minutes", type=int, default=60, help="of each rank; at least 10, or a drift is not seen")
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/bench/fleet_traces"))
    parser.add_argument("--curves", action="store_true", help="only what is found in made-up fleets")
    parser.add_argument("--seeds", type=int, default=100, help="fleets of each kind, with --curves")
    parser.add_argument("--out", help="default: results/fleet-cpu.json, or fleet-curves-cpu.json with --curves")
    given = parser.parse_args()
    out = given.out or str(HERE / "results" / ("fleet-curves-cpu.json" if given.curves else "fleet-cpu.json"))
    if given.curves:
        result_file.write(out, "fleet-curves", fleet_curves.all_rows(given.seeds))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.ranks, given.minutes, given.program, pathlib.Path(folder))
    for row in rows:
        print(f"{row['metric']:46} {row['value']:10.2f} {row['unit']:8} {row['spread']}")
    result_file.write(out, "fleet", rows)
    return 0 if all(row["met"] is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
