#!/usr/bin/env python3
"""How soon the page of a large run is there in a browser, and how long a frame of it takes.

    bench/html_browser.py [SOURCE] --turnpike PATH [--events N ...] [--rounds N] [--out ...]

SOURCE is a recording of one process (default: examples/train-before-h100.tpk). Its records are repeated until the page
that `turnpike report --html` writes has about N events (default: 10^6 and 10^7). Chromium opens each page again and
again: web/tools/bench.ts, with the program of web/dist. Frames count as the time of their script, without the
browser's own drawing. Needs Node and web/node_modules (npm ci).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
WEB = HERE.parent / "web"
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "python")]

import ingest  # noqa: E402
import result_file  # noqa: E402

# Of the example's page: its calls, kernels and copies, and the times at which its GPU waits.
EVENTS_PER_MB = 20_700
TARGET_FIRST_FRAME_S = {1_000_000: 1.5, 10_000_000: 5.0}
TARGET_FRAME_MS = {1_000_000: 16.0}
TARGET_BYTES_PER_EVENT = 5.5
TARGET_SCRIPT_KB = 120.0
ZOOMS = {"near": "near", "middle": "8 steps nearer", "zoomed_out": "the whole run", "all_levels": "through all levels"}


def sibling(name: str) -> Any:
    """bench/html.py has the name of a module of Python."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", HERE / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(page: pathlib.Path, rounds: int) -> dict[str, Any]:
    command = ["node", "tools/run.mjs", "tools/bench.ts", str(page), "--rounds", str(rounds)]
    return json.loads(subprocess.run(command, cwd=WEB, stdout=subprocess.PIPE, check=True).stdout)


def median_row(case: str, metric: str, unit: str, values: list[float], target: float | None, **more: Any) -> dict:
    value = statistics.median(values)
    return result_file.row(
        case, metric, unit, value, samples=len(values), spread=ingest.interval(values), target=target,
        met=None if target is None else value <= target, best=min(values), **more,
    )  # fmt: skip


def rows_of(wanted: int, result: dict[str, Any], an_event: float, page_mb: float) -> list[dict[str, Any]]:
    events, rounds = result["events"], result["rounds"]
    case = f"{events} events, {result['lanes']} lanes"
    first = [round_["first_frame"] / 1000 for round_ in rounds]
    rows = [
        result_file.row(case, "page", "MB", page_mb),
        result_file.row(case, "bytes an event", "B", an_event, target=TARGET_BYTES_PER_EVENT,
                        met=an_event <= TARGET_BYTES_PER_EVENT),
        median_row(case, "first frame", "s", first, TARGET_FIRST_FRAME_S.get(wanted)),
        median_row(case, "heap an event", "B", [round_["heap_bytes"] / events for round_ in rounds], None),
    ]  # fmt: skip
    for zoom, words in ZOOMS.items():
        values = [round_["frame_95"][zoom] for round_ in rounds]
        rows.append(median_row(case, f"95 % of the frames, {words}", "ms", values, TARGET_FRAME_MS.get(wanted)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default=HERE.parent / "examples" / "train-before-h100.tpk")
    parser.add_argument("--turnpike", required=True)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default=str(HERE / "results" / "html-browser-cpu.json"))
    arguments = parser.parse_args()
    html = sibling("html")
    (source,) = pathlib.Path(arguments.source).glob("*.tpt")
    rows: list[dict[str, Any]] = []
    for wanted in arguments.events:
        with tempfile.TemporaryDirectory() as folder:
            run, page = pathlib.Path(folder, "large.tpk"), pathlib.Path(folder, "page.html")
            run.mkdir()
            html.repeated(source, run / "1.tpt", wanted * 1_000_000 // EVENTS_PER_MB)
            command = [arguments.turnpike, "report", str(run), "--html", str(page), "--events", str(2 * wanted)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            in_page, block_bytes = html.events_and_bytes(page.read_text())
            result = measured(page, arguments.rounds)
            rows += rows_of(wanted, result, block_bytes / in_page, page.stat().st_size / 1e6)
    script_kb = result["script_bytes"] / 1000
    rows.append(result_file.row("every page", "script", "kB", script_kb, target=TARGET_SCRIPT_KB,
                                met=script_kb <= TARGET_SCRIPT_KB))  # fmt: skip
    for row in rows:
        met = "" if row["met"] is None else row["met"]
        print(f"{row['case']:32} {row['metric']:42} {row['value']:9.2f} {row['unit']:3} {met}")
    result_file.write(arguments.out, "html-browser", rows, chromium=result["chromium"],
                      load=round(os.getloadavg()[0], 1))  # fmt: skip


if __name__ == "__main__":
    main()
