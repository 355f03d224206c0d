#!/usr/bin/env python3
"""How fast a trace of torch.profiler becomes a report, beside Python's json module and HolisticTraceAnalysis (HTA).

    bench/ingest.py [SOURCE] --turnpike PATH [--ingest-memory PATH] [--hta-python PATH] [--out ...]

SOURCE is a real trace (.json or .json.gz). It is repeated, with times, ids and steps shifted, into files of 1, 10 and
100 MB and 1 GB. The programs take turns on one core and on the same file, so that what else the machine does hits all
alike. Each run is a process of its own: wall time, CPU time and peak memory are what the system says of it. Turnpike
makes all of a report, json.load only parses, HTA loads the trace and breaks its kernels down. Every report is checked:
copies and bytes must be those that Python counts in SOURCE, times the repetitions.

With --ingest-memory (a program of that name, a target of the build) the memory is also compared with what is kept of
the file: with what is in memory when its end is reached, before any of it is joined, and with what the records, names
and stacks take when the file is loaded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import result_file  # noqa: E402

DEFAULT_SOURCE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "shared/data/kineto/ddp_rank0.json.gz")
TARGET_MB_PER_S = 300.0
TARGET_PEAK_OF_KEPT = 2.0
SIZES_MB = {"1 MB": 1, "10 MB": 10, "100 MB": 100, "1 GB": 1000}
# Beyond it only Turnpike reads on: the others need many times the file in memory.
LARGEST_FOR_OTHERS_MB = 100

JSON_PROGRAM = """
import gzip, json, sys
path = sys.argv[1]
with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
    assert json.load(file)["traceEvents"]
"""
HTA_PROGRAM = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
analysis.get_gpu_kernel_breakdown(visualize=False)
"""


class Source:
    """A trace as text that can be written again and again, shifted."""

    # What must differ between repetitions. `id` is of flows, which have the id of what they link.
    SHIFTED = re.compile(r'"(ts|correlation|External id|id)": (\d+)|"(ProfilerStep#)(\d+)"')

    def __init__(self, path: str) -> None:
        opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
        with opened as file:
            text = file.read()
        start = text.index('"traceEvents": [') + len('"traceEvents": [')
        end = text.rindex("]", 0, text.rindex("traceName")) if "traceName" in text[start:] else text.rindex("]")
        self.head, body, self.tail = text[:start], text[start:end].rstrip(), text[end:]
        events = json.loads(text)["traceEvents"]
        self.copies = [event for event in events if event.get("cat") in ("gpu_memcpy", "gpu_memset")]
        times = [float(event["ts"]) for event in events if "ts" in event and event.get("ph") == "X"]
        steps = {event["name"] for event in events if event.get("name", "").startswith("ProfilerStep#")}
        largest_id = max(int(event["args"].get("correlation", 0)) for event in events if "args" in event)
        self.shift = {
            "ts": int(max(times) - min(times)) + 50_000,
            "ProfilerStep#": len(steps),
            "correlation": largest_id + 1,
            "External id": 1_000_000,
            "id": largest_id + 1,
        }
        # The text between what is shifted, and what that is.
        self.pieces: list[str] = []
        self.numbers: list[tuple[str, int]] = []
        at = 0
        for found in self.SHIFTED.finditer(body):
            key, number = (found[1], 2) if found[1] else (found[3], 4)
            self.pieces.append(body[at : found.start(number)])
            self.numbers.append((key, int(found[number])))
            at = found.end(number)
        self.pieces.append(body[at:])
        self.body_bytes = len(body)

    def write(self, path: str, size_bytes: int) -> int:
        """Writes a file of about that size; gives the number of repetitions."""
        repetitions = max(1, round(size_bytes / self.body_bytes))
        with gzip.open(path, "wt", compresslevel=6) if path.endswith(".gz") else open(path, "w") as file:
            file.write(self.head)
            for repetition in range(repetitions):
                file.write("," if repetition else "")
                for piece, (key, number) in zip(self.pieces, self.numbers, strict=False):
                    file.write(piece)
                    file.write(str(number + repetition * self.shift[key]))
                file.write(self.pieces[-1])
            file.write(self.tail)
        return repetitions

    def write_part(self, path: str, size_bytes: int) -> int:
        """Writes the first events, up to about that size; gives 0 repetitions: its copies are counted in the file."""
        text = "".join(piece + str(number) for piece, (_, number) in zip(self.pieces, self.numbers, strict=False))
        with gzip.open(path, "wt", compresslevel=6) if path.endswith(".gz") else open(path, "w") as file:
            file.write(self.head + text[: text.rindex("\n  },", 0, size_bytes)] + "\n  }\n  " + self.tail)
        return 0

    def expected(self, path: str, repetitions: int) -> tuple[int, int]:
        """Copies and memsets, and their bytes, in a file that was written."""
        copies = self.copies
        if repetitions == 0:
            with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
                events = json.load(file)["traceEvents"]
            copies = [event for event in events if event.get("cat") in ("gpu_memcpy", "gpu_memset")]
        times = max(repetitions, 1)
        return times * len(copies), times * sum(event["args"]["bytes"] for event in copies)


# What a process had in memory counts in its peak after it has become another program, so a small one starts it.
LAUNCHER = """
import json, os, sys, time
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
sample = {"status": status, "wall": wall, "cpu": cpu, "memory": usage.ru_maxrss * 1024 / 1e6}
with os.fdopen(3, "w") as out:
    json.dump(sample, out)
"""


def measured(command: list[str], cpu: int | str, output: str | None = None) -> dict[str, float]:
    """Runs a command on one core, or on those of a list such as "0,1". Fails when the command does."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, "taskset", "-c", str(cpu), *command]
    with (
        open(output or os.devnull, "w") as out,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile("w+") as told,
    ):
        script = ["sh", "-c", f'exec "$@" 3>&{told.fileno()}', "sh", *launcher]
        subprocess.run(script, stdout=out, stderr=errors, pass_fds=[told.fileno()], check=True)
        told.seek(0)
        sample = json.load(told)
        if sample.pop("status") != 0:
            errors.seek(0)
            raise RuntimeError(f"{command} failed:\n{errors.read().decode(errors='replace')[-2000:]}")
    return sample


def check_report(path: str, expected: tuple[int, int]) -> None:
    with open(path) as file:
        report = json.load(file)
    totals = report["totals"].values()
    found = sum(total["count"] for total in totals), sum(total["bytes"] for total in totals)
    if found != expected or report["losses"]:
        raise RuntimeError(f"the report has {found} copies and bytes, losses {report['losses']}; expected {expected}")


def interval(values: list[float]) -> list[float] | None:
    """95 % of the median, by bootstrap."""
    if len(values) < 5:
        return None
    chooser = random.Random(1)
    medians = sorted(statistics.median(chooser.choices(values, k=len(values))) for _ in range(2000))
    return [medians[50], medians[1949]]


def rows_of(case: str, size_mb: float, samples: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    def median(program: str, what: str) -> float:
        return statistics.median(sample[what] for sample in samples[program])

    rows = []
    ours = [sample["wall"] for sample in samples["turnpike"]]
    rates = [size_mb / sample["cpu"] for sample in samples["turnpike"]]
    is_plain = not case.endswith("gz")
    target = TARGET_MB_PER_S if is_plain and size_mb > 50 else None
    rate = statistics.median(rates)
    rows.append(
        result_file.row(
            case, "file per CPU time", "MB/s", rate, spread=interval(rates), samples=len(rates), target=target,
            met=None if target is None else rate >= target, file_mb=size_mb,
        )
    )  # fmt: skip
    others = [program for program in samples if program != "turnpike"]
    for program in others or [None]:
        compared = {"baseline": program, "samples": len(ours)}
        for metric, unit, what in (
            ("wall time", "s", "wall"),
            ("CPU time", "s", "cpu"),
            ("peak memory", "MB", "memory"),
        ):
            values = [sample[what] for sample in samples["turnpike"]]
            baseline = median(program, what) if program else None
            value = statistics.median(values)
            rows.append(
                result_file.row(case, metric, unit, value, spread=interval(values), baseline_value=baseline, **compared)
            )
    return rows


def memory_rows(arguments: argparse.Namespace, path: str, case: str) -> list[dict[str, Any]]:
    """The peak of reading and analyzing over what is kept of the file. One sample: it hardly varies."""
    command = ["taskset", "-c", str(arguments.cpu), arguments.ingest_memory, arguments.source, path]
    counted = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    peak_mb, reading_mb, loaded_mb = (
        counted[name] / 1e6 for name in ("peak_bytes", "kept_while_reading_bytes", "kept_when_loaded_bytes")
    )
    has_target = SIZES_MB[case.removesuffix(" gz")] >= 100
    metric = "peak memory beyond the program's own"
    return [
        result_file.row(
            case, metric, "MB", peak_mb, baseline="kept at the end of the file", baseline_value=reading_mb,
            target=TARGET_PEAK_OF_KEPT if has_target else None,
            met=peak_mb <= TARGET_PEAK_OF_KEPT * reading_mb if has_target else None,
        ),
        result_file.row(case, metric, "MB", peak_mb, baseline="kept when loaded", baseline_value=loaded_mb),
    ]  # fmt: skip


def programs_for(arguments: argparse.Namespace, size_mb: float) -> dict[str, list[str]]:
    programs = {"turnpike": [arguments.turnpike, "report", "--json"]}
    if size_mb <= LARGEST_FOR_OTHERS_MB:
        programs["json.load"] = [sys.executable, "-c", JSON_PROGRAM]
        if arguments.hta_python:
            programs["HTA"] = [arguments.hta_python, "-c", HTA_PROGRAM]
    return programs


def measure_file(
    arguments: argparse.Namespace, path: str, case: str, expected: tuple[int, int]
) -> list[dict[str, Any]]:
    size_mb = (len_unpacked(path) if path.endswith(".gz") else os.path.getsize(path)) / 1e6
    programs = programs_for(arguments, round(size_mb, -1))
    samples: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    report = path + ".report"
    for _ in range(arguments.rounds):
        for program, command in programs.items():
            # HTA takes seconds for any file: a few of them tell.
            if program == "HTA" and len(samples[program]) >= arguments.hta_rounds:
                continue
            output = report if program == "turnpike" else None
            samples[program].append(measured([*command, path], arguments.cpu, output))
            if program == "turnpike":
                check_report(report, expected)
    rows = rows_of(case, size_mb, samples)
    if arguments.ingest_memory:
        rows += memory_rows(arguments, path, case)
    for row in rows:
        print(f"{row['case']:10} {row['metric']:18} {row['value']:10.3f} {row['unit']:5}", end=" ")
        print(f"{row['baseline']}: {row['baseline_value']:.3f}, ratio {row['ratio']:.4f}" if row["baseline"] else "")
    return rows


def len_unpacked(path: str) -> int:
    total = 0
    with gzip.open(path, "rb") as file:
        while piece := file.read(1 << 20):
            total += len(piece)
    return total


def cpu_name() -> str:
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def hta_version(python: str | None) -> str | None:
    if not python:
        return None
    program = "import importlib.metadata; print(importlib.metadata.version('HolisticTraceAnalysis'))"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=DEFAULT_SOURCE)
    parser.add_argument("--turnpike", default="turnpike")
    parser.add_argument("--ingest-memory", help="the program of that name; without: what is kept is not counted")
    parser.add_argument("--hta-python", help="an interpreter that has HolisticTraceAnalysis; without: HTA is left out")
    parser.add_argument("--sizes", nargs="+", choices=SIZES_MB, default=list(SIZES_MB))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hta-rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=0, help="the core that everything runs on")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "ingest-cpu.json"))
    arguments = parser.parse_args()

    source = Source(arguments.source)
    rows: list[dict[str, Any]] = []
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ingest-") as folder:
        for size in arguments.sizes:
            suffixes = ("json", "json.gz") if SIZES_MB[size] == 100 else ("json",)
            for suffix in suffixes:
                path = os.path.join(folder, "trace." + suffix)
                size_bytes = SIZES_MB[size] * 1_000_000
                write = source.write_part if size_bytes < source.body_bytes / 2 else source.write
                repetitions = write(path, size_bytes)
                case = size + (" gz" if suffix.endswith("gz") else "")
                rows += measure_file(arguments, path, case, source.expected(path, repetitions))
                os.remove(path)
    result_file.write(
        arguments.out,
        "ingest",
        rows,
        [
            *("python", "bench/ingest.py", os.path.basename(arguments.source)),
            *("--turnpike", "turnpike", "--ingest-memory", "ingest_memory", "--hta-python", "python"),
            *("--sizes", *arguments.sizes, "--rounds", str(arguments.rounds)),
            *("--hta-rounds", str(arguments.hta_rounds)),
        ],
        cpu=cpu_name(),
        cores=os.cpu_count(),
        cores_used=1,
        hta_version=hta_version(arguments.hta_python),
        load_average=[load_before, os.getloadavg()[0]],
    )


if __name__ == "__main__":
    main()
