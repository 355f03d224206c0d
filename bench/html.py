#!/usr/bin/env python3
"""How fast a recording becomes an HTML report, how much memory that takes, and how large the page is.

    bench/html.py [SOURCE] --turnpike PATH [--kineto TRACE] [--size-mb N] [--rounds N] [--out ...]

SOURCE is a recording of one process (default: examples/train-before-h100.tpk). Its records are repeated, with times and
correlation ids shifted, into a file of about N MB. TRACE is one of torch.profiler, which bench/ingest.py repeats into
a file of 100 MB. For each file `report --json` and `report --html` take turns: what the page costs is the difference.
The page is also written with a second core, whose threads compress blocks; it must be the same page. Each run is a
process of its own; CPU time, wall time and peak memory are what the system says. A MB is 1,000,000 bytes of the file;
an event takes about 80 of them in a recording.

With --ingest-memory (a program of that name, a target of the build) the memory for TRACE is also compared with what is
kept of the file when its end is reached.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "python")]

import ingest  # noqa: E402
import result_file  # noqa: E402

from tracefile import crc32c  # noqa: E402

TARGET_MB_PER_S = 300.0
TARGET_BYTES_PER_EVENT = 5.5
MAX_EVENTS = 1_000_000
TARGET_PEAK_OF_KEPT = 2.0
KINETO_MB = 100
JSON, HTML, TWO_CORES = "--json", "--html", "--html on two cores"

CHUNK_HEADER = struct.Struct("<4sIII")
RECORDS, END = 5, 8
CALL, MEMCPY, MEMSET, KERNEL, RANGE, CONTENT, MEMORY, SAMPLE = 1, 2, 3, 4, 5, 11, 12, 13
# Where records hold times and the correlation id (src/trace/format.h).
TIMES = {CALL: (8, 16), MEMCPY: (8, 16), MEMSET: (8, 16), KERNEL: (8, 16), RANGE: (16, 24), MEMORY: (8,), SAMPLE: (8,)}
CORRELATION = {CALL: 24, MEMCPY: 32, MEMSET: 32, KERNEL: 24, CONTENT: 4}
EVENTS = (CALL, MEMCPY, MEMSET, KERNEL, RANGE)


def is_repeated(kind: int) -> bool:
    return kind in TIMES or kind in CORRELATION


def chunks_of(data: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
    """The file's header, and its chunks as type and payload."""
    (header_bytes,) = struct.unpack_from("<I", data, 12)
    chunks, at = [], header_bytes
    while at < len(data):
        _, kind, size, _ = CHUNK_HEADER.unpack_from(data, at)
        at += CHUNK_HEADER.size
        chunks.append((kind, data[at : at + size]))
        at += size
    return data[:header_bytes], chunks


def chunk(kind: int, payload: bytes) -> bytes:
    checked = struct.pack("<II", kind, len(payload)) + payload
    return CHUNK_HEADER.pack(b"TPKC", kind, len(payload), crc32c(checked)) + payload


def records_of(payload: bytes) -> list[tuple[int, bytes]]:
    records, at = [], 0
    while at < len(payload):
        kind, size = struct.unpack_from("<HH", payload, at)
        records.append((kind, payload[at : at + size]))
        at += size
    return records


def repeated(source: pathlib.Path, path: pathlib.Path, size_bytes: int) -> int:
    """Writes a file of about that size. Gives the number of its events."""
    header, chunks = chunks_of(source.read_bytes())
    records = [record for kind, payload in chunks if kind == RECORDS for record in records_of(payload)]
    movable = [(kind, data) for kind, data in records if is_repeated(kind)]
    times = [struct.unpack_from("<q", data, offset)[0] for kind, data in records for offset in TIMES.get(kind, ())]
    span = max(times) - min(time for time in times if time > 0) + 50_000
    most = max(struct.unpack_from("<I", data, CORRELATION[kind])[0] for kind, data in records if kind in CORRELATION)
    times_written = max(1, round(size_bytes / sum(len(data) for _, data in movable)))
    with open(path, "wb") as file:
        file.write(header)
        for kind, payload in chunks:
            if kind not in (RECORDS, END):
                file.write(chunk(kind, payload))
        file.write(chunk(RECORDS, b"".join(data for kind, data in records if not is_repeated(kind))))
        for repetition in range(times_written):
            shifted = []
            for kind, data in movable:
                copy = bytearray(data)
                for offset in TIMES.get(kind, ()):
                    struct.pack_into("<q", copy, offset, struct.unpack_from("<q", copy, offset)[0] + repetition * span)
                if kind in CORRELATION:
                    offset = CORRELATION[kind]
                    (number,) = struct.unpack_from("<I", copy, offset)
                    struct.pack_into("<I", copy, offset, number + repetition * (most + 1) if number else 0)
                shifted.append(bytes(copy))
            file.write(chunk(RECORDS, b"".join(shifted)))
    return times_written * sum(1 for kind, _ in movable if kind in EVENTS)


def events_and_bytes(page: str) -> tuple[int, int]:
    """How many events a page holds, and the bytes of their blocks."""
    contents = json.loads(re.search(r'id="tp-toc">(.*?)</script>', page, re.DOTALL)[1])
    events = sum(block["count"] for lane in contents["lanes"] for block in lane["blocks"])
    return events, sum(len(text) for text in re.findall(r'id="tp-b\d+">([^<]*)<', page))


Samples = dict[str, list[dict[str, float]]]


def measure(arguments: argparse.Namespace, run: pathlib.Path, page: pathlib.Path) -> tuple[Samples, str]:
    """Samples of each command, by JSON, HTML and TWO_CORES, and the page."""
    json_command = [arguments.turnpike, "report", str(run), "--json"]
    html_command = [arguments.turnpike, "report", str(run), "--html", str(page), "--events", str(MAX_EVENTS)]
    samples: Samples = {JSON: [], HTML: [], TWO_CORES: []}
    for _ in range(arguments.rounds):
        samples[JSON].append(ingest.measured(json_command, arguments.cpu))
        samples[HTML].append(ingest.measured(html_command, arguments.cpu))
        text = page.read_text()
        samples[TWO_CORES].append(ingest.measured(html_command, f"{arguments.cpu},{arguments.second_cpu}"))
        if page.read_text() != text:
            raise SystemExit("the page written with two cores is another one")
    return samples, text


def rate_row(
    case: str, metric: str, size_mb: float, seconds: list[float], target: float | None = None
) -> dict[str, Any]:
    rate = size_mb / statistics.median(seconds)
    spread = ingest.interval([size_mb / one for one in seconds])
    met = None if target is None else rate >= target
    return result_file.row(case, metric, "MB/s", rate, samples=len(seconds), spread=spread, target=target, met=met)


def memory_row(case: str, metric: str, samples: Samples, name: str) -> dict[str, Any]:
    peak, plain = (statistics.median(one["memory"] for one in samples[each]) for each in (name, JSON))
    return result_file.row(
        case, metric, "MB", peak, samples=len(samples[name]), baseline="report --json", baseline_value=plain
    )


def own_rows(case: str, size_mb: float, samples: Samples, text: str) -> list[dict[str, Any]]:
    def extra(name: str, what: str) -> list[float]:
        return [one[what] - plain[what] for one, plain in zip(samples[name], samples[JSON], strict=True)]

    in_page, block_bytes = events_and_bytes(text)
    an_event = block_bytes / in_page
    page_mb = len(text.encode()) / 1e6
    return [
        rate_row(case, "trace per CPU time of writing the page", size_mb, extra(HTML, "cpu"), TARGET_MB_PER_S),
        rate_row(case, "trace per wall time of writing the page, one core", size_mb, extra(HTML, "wall")),
        rate_row(case, "trace per wall time of writing the page, two cores", size_mb, extra(TWO_CORES, "wall")),
        *command_rows(case, "trace", size_mb, samples, None),
        result_file.row(case, "bytes an event in the page", "B", an_event, target=TARGET_BYTES_PER_EVENT,
                        met=an_event <= TARGET_BYTES_PER_EVENT, events=in_page),
        result_file.row(case, "page", "MB", page_mb, target=6.0, met=page_mb <= 6.0),
    ]  # fmt: skip


def command_rows(case: str, what: str, size_mb: float, samples: Samples, target: float | None) -> list[dict[str, Any]]:
    """The rates of the whole command, and its memory."""

    def values(name: str, of: str) -> list[float]:
        return [one[of] for one in samples[name]]

    return [
        rate_row(case, f"{what} per CPU time of report --html", size_mb, values(HTML, "cpu"), target),
        rate_row(case, f"{what} per wall time of report --html, one core", size_mb, values(HTML, "wall")),
        rate_row(case, f"{what} per wall time of report --html, two cores", size_mb, values(TWO_CORES, "wall")),
        memory_row(case, "peak memory, one core", samples, HTML),
        memory_row(case, "peak memory, two cores", samples, TWO_CORES),
    ]


def kept_row(arguments: argparse.Namespace, case: str, trace: pathlib.Path, samples: Samples) -> dict[str, Any]:
    command = ["taskset", "-c", str(arguments.cpu), arguments.ingest_memory, arguments.kineto, str(trace)]
    counted = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    kept_mb = counted["kept_while_reading_bytes"] / 1e6
    program_mb = ingest.measured([arguments.turnpike, "--version"], arguments.cpu)["memory"]
    peak_mb = statistics.median(one["memory"] for one in samples[HTML]) - program_mb
    return result_file.row(
        case, "peak memory beyond the program's own", "MB", peak_mb, samples=len(samples[HTML]),
        baseline="kept at the end of the file", baseline_value=kept_mb,
        target=TARGET_PEAK_OF_KEPT, met=peak_mb <= TARGET_PEAK_OF_KEPT * kept_mb,
    )  # fmt: skip


def measure_recording(arguments: argparse.Namespace, folder: pathlib.Path) -> list[dict[str, Any]]:
    run = folder / "large.tpk"
    run.mkdir()
    (source,) = pathlib.Path(arguments.source).glob("*.tpt")
    events = repeated(source, run / "1.tpt", arguments.size_mb * 1_000_000)
    size_mb = (run / "1.tpt").stat().st_size / 1e6
    samples, text = measure(arguments, run, folder / "page.html")
    return own_rows(f"{size_mb:.0f} MB, {events} events", size_mb, samples, text)


def measure_kineto(arguments: argparse.Namespace, folder: pathlib.Path) -> list[dict[str, Any]]:
    trace = folder / "trace.json"
    ingest.Source(arguments.kineto).write(str(trace), KINETO_MB * 1_000_000)
    size_mb = trace.stat().st_size / 1e6
    samples, _ = measure(arguments, trace, folder / "page.html")
    case = f"{size_mb:.0f} MB of torch.profiler"
    rows = command_rows(case, "file", size_mb, samples, TARGET_MB_PER_S)
    return rows + ([kept_row(arguments, case, trace, samples)] if arguments.ingest_memory else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=HERE.parent / "examples" / "train-before-h100.tpk")
    parser.add_argument("--turnpike", required=True)
    parser.add_argument("--kineto", default=ingest.DEFAULT_SOURCE)
    parser.add_argument("--ingest-memory", help="the program of that name; without: what is kept is not counted")
    parser.add_argument("--size-mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--second-cpu", type=int, default=1)
    parser.add_argument("--out", default=str(HERE / "results" / "html-cpu.json"))
    arguments = parser.parse_args()
    if not os.path.exists(arguments.kineto):
        parser.error(f"{arguments.kineto} does not exist: name a trace of torch.profiler with --kineto")
    rows: list[dict[str, Any]] = []
    load_before = os.getloadavg()[0]
    for measure_case in (measure_recording, measure_kineto):
        with tempfile.TemporaryDirectory() as folder:
            rows += measure_case(arguments, pathlib.Path(folder))
    for row in rows:
        met = "" if row["met"] is None else row["met"]
        print(f"{row['case']:24} {row['metric']:52} {row['value']:8.2f} {row['unit']:5} {met}")
    result_file.write(
        arguments.out, "html", rows, cpu=ingest.cpu_name(), load_average=[load_before, os.getloadavg()[0]]
    )


if __name__ == "__main__":
    main()
