#!/usr/bin/env python3
"""How fast a recording becomes an HTML report, how much memory that takes, and how large the page is.

    bench/html.py [SOURCE] --turnpike PATH [--size-mb N] [--rounds N] [--out ...]

SOURCE is a recording of one process (default: examples/train-before-h100.tpk). Its records are repeated, with times and
correlation ids shifted, into a file of about N MB. `report --json` and `report --html` take turns on that file: what
the page costs is the difference. Each run is a process of its own; CPU time and peak memory are what the system says.
A MB of trace is 1,000,000 bytes of the recording's file, in which an event takes about 80.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "python")]

import ingest  # noqa: E402
import result_file  # noqa: E402

from tracefile import crc32c  # noqa: E402

TARGET_MB_PER_S = 300.0
TARGET_BYTES_PER_EVENT = 5.5
MAX_EVENTS = 1_000_000

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=HERE.parent / "examples" / "train-before-h100.tpk")
    parser.add_argument("--turnpike", required=True)
    parser.add_argument("--size-mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--out", default=str(HERE / "results" / "html-cpu.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "large.tpk"
        run.mkdir()
        (source,) = pathlib.Path(arguments.source).glob("*.tpt")
        events = repeated(source, run / "1.tpt", arguments.size_mb * 1_000_000)
        size_mb = (run / "1.tpt").stat().st_size / 1e6
        page = os.path.join(folder, "page.html")
        commands = {
            "--json": [arguments.turnpike, "report", str(run), "--json"],
            "--html": [arguments.turnpike, "report", str(run), "--html", page, "--events", str(MAX_EVENTS)],
        }
        samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                samples[name].append(ingest.measured(command, arguments.cpu))
        text = pathlib.Path(page).read_text()
    in_page, block_bytes = events_and_bytes(text)
    case = f"{size_mb:.0f} MB, {events} events"

    def values(name: str, what: str) -> list[float]:
        return [sample[what] for sample in samples[name]]

    extra = [page - plain for page, plain in zip(values("--html", "cpu"), values("--json", "cpu"), strict=True)]
    rate = size_mb / statistics.median(extra)
    whole = size_mb / statistics.median(values("--html", "cpu"))
    an_event = block_bytes / in_page
    rows = [
        result_file.row(case, "trace per CPU time of writing the page", "MB/s", rate, samples=len(extra),
                        spread=ingest.interval([size_mb / one for one in extra]), target=TARGET_MB_PER_S,
                        met=rate >= TARGET_MB_PER_S),
        result_file.row(case, "trace per CPU time of report --html", "MB/s", whole, samples=len(extra),
                        spread=ingest.interval([size_mb / one for one in values("--html", "cpu")])),
        result_file.row(case, "peak memory", "MB", statistics.median(values("--html", "memory")), samples=len(extra),
                        baseline="report --json", baseline_value=statistics.median(values("--json", "memory"))),
        result_file.row(case, "bytes an event in the page", "B", an_event, target=TARGET_BYTES_PER_EVENT,
                        met=an_event <= TARGET_BYTES_PER_EVENT, events=in_page),
        result_file.row(case, "page", "MB", len(text.encode()) / 1e6, target=6.0, met=len(text.encode()) <= 6e6),
    ]  # fmt: skip
    for row in rows:
        print(f"{row['metric']:42} {row['value']:10.2f} {row['unit']:5} {'' if row['met'] is None else row['met']}")
    result_file.write(arguments.out, "html", rows)


if __name__ == "__main__":
    main()
