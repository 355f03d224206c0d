#!/usr/bin/env python3
"""A million real transfers under `turnpike record`: every one is counted, nothing is lost, and memory stays bounded.

    tests/gpu/soak.py [--transfers 1000000] [--out RESULTS.json]

Four small copies in turn: up and down, from pageable and pinned memory. The process measures its own memory after the
first tenth and at the end; what it grew by in between is the recorder's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))

import result_file  # noqa: E402

# What the process may grow by between the first tenth of the transfers and the last: nothing depends on their number.
MAX_GROWTH_MB = 64
ELEMENTS = 256
BYTES = 4 * ELEMENTS


def resident_mb() -> float:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS in /proc/self/status")


def work(transfers: int) -> None:
    """The recorded program: prints its measurements as JSON."""
    import torch

    pageable, pinned = torch.ones(ELEMENTS), torch.ones(ELEMENTS).pin_memory()
    back, back_pinned = torch.empty(ELEMENTS), torch.empty(ELEMENTS).pin_memory()
    x = torch.zeros(ELEMENTS, device="cuda")
    rounds = transfers // 4
    first_tenth = None
    start = time.perf_counter()
    for i in range(rounds):
        x.copy_(pageable, non_blocking=True)
        x.copy_(pinned, non_blocking=True)
        back_pinned.copy_(x, non_blocking=True)
        back.copy_(x)
        if i == rounds // 10:
            first_tenth = resident_mb()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if not torch.equal(back, pageable):
        raise RuntimeError("the data that came back is not what was sent")
    print(json.dumps({"seconds": seconds, "growth_mb": resident_mb() - first_tenth, "resident_mb": resident_mb()}))


def run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def check(turnpike: str, transfers: int) -> tuple[list[str], list[dict]]:
    """What is wrong, and the rows of the result file."""
    program = [sys.executable, os.path.abspath(__file__), "--work", str(transfers)]
    plain = run(program)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        trace = os.path.join(folder, "soak.tpk")
        recorded = run([turnpike, "record", "-o", trace, "--quiet", "--", *program])
        trace_mb = sum(entry.stat().st_size for entry in os.scandir(trace)) / 1e6
        start = time.perf_counter()
        reported = subprocess.run([turnpike, "report", trace, "--json"], capture_output=True, text=True)
        report_s = time.perf_counter() - start
    if reported.returncode != 0:
        return [f"turnpike report: exit code {reported.returncode}: {reported.stderr}"], []
    report = json.loads(reported.stdout)

    wanted = transfers // 4 * 2
    problems = []
    for direction in ("h2d", "d2h"):
        total = report["totals"][direction]
        if (total["count"], total["bytes"]) != (wanted, wanted * BYTES):
            problems.append(
                f"{direction}: {wanted} of {wanted * BYTES} bytes made, {total['count']} of {total['bytes']} found"
            )
    if report["losses"]:
        problems.append(f"losses: {report['losses']}")
    if recorded["growth_mb"] > MAX_GROWTH_MB:
        problems.append(f"grew by {recorded['growth_mb']:.1f} MB, more than {MAX_GROWTH_MB}")

    found = report["totals"]["h2d"]["count"] + report["totals"]["d2h"]["count"]
    case = f"{transfers} small transfers"
    rows = [
        result_file.row(case, "transfers found", "count", found, baseline="made", baseline_value=2 * wanted,
                        target=2 * wanted, met=found == 2 * wanted and not report["losses"], problems=problems),
        result_file.row(case, "growth of the process after the first tenth", "MB", round(recorded["growth_mb"], 1),
                        baseline="not recorded", baseline_value=round(plain["growth_mb"], 1), target=MAX_GROWTH_MB,
                        met=recorded["growth_mb"] <= MAX_GROWTH_MB),
        result_file.row(case, "resident memory", "MB", round(recorded["resident_mb"], 1),
                        baseline="not recorded", baseline_value=round(plain["resident_mb"], 1)),
        result_file.row(case, "time", "s", round(recorded["seconds"], 2),
                        baseline="not recorded, another process", baseline_value=round(plain["seconds"], 2)),
        result_file.row(case, "trace", "MB", round(trace_mb, 1)),
        result_file.row(case, "time of turnpike report", "s", round(report_s, 2)),
    ]  # fmt: skip
    return problems, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfers", type=int, default=1_000_000)
    parser.add_argument("--turnpike", default="turnpike", help="the command to test (default: the one on PATH)")
    parser.add_argument("--out", help="write a result file here")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.work)
        return 0
    turnpike = shutil.which(args.turnpike)
    if turnpike is None:
        parser.error(f"no command {args.turnpike}: install Turnpike or say --turnpike PATH")

    problems, rows = check(turnpike, args.transfers)
    for row in rows:
        beside = "" if row["baseline_value"] is None else f"   {row['baseline']}: {row['baseline_value']}"
        print(f"{row['metric']:48} {row['value']} {row['unit']}{beside}")
    for problem in problems:
        print(f"  {problem}")
    if args.out:
        result_file.write(args.out, "soak", rows)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
