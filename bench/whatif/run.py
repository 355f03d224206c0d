#!/usr/bin/env python3
"""Does a predicted gain come true? Records programs as they are, predicts the step time of their fix, and measures it.

    python -m bench.whatif [--pairs a,b] [--out RESULTS.json] [--traces DIR]
    python -m bench.whatif --dry-run --device cpu        only tries the programs out

For each pair, in one process: blocks of the program as it is and of the fixed one take turns, not recorded; their
medians are the two measured step times. Then the first is recorded five times for some tens of steps. `turnpike
whatif` predicts the step time of the second from the recording whose steps are closest to the measured time, because
other work on a shared machine disturbs some recordings. Exits 1 when a prediction is off by more than 5 % or has the
wrong sign.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import gc
import importlib.util
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]


def hear_nvtx() -> None:
    """Lets the recorder hear of NVTX ranges: NVTX looks for its listener at the first range of the process only."""
    if importlib.util.find_spec("turnpike") is not None:
        from turnpike import _native

        os.environ.setdefault("NVTX_INJECTION64_PATH", _native.RECORD_LIBRARY)


hear_nvtx()

import cpu_stand_in  # noqa: E402
import pair as pairs  # noqa: E402
import result_file  # noqa: E402
import torch  # noqa: E402
from medians import interval, rounded  # noqa: E402
from pair import Loop, Pair  # noqa: E402
from turnpike_command import turnpike_json, turnpike_text  # noqa: E402

TARGET_PCT = 5.0
BLOCKS = 8  # of each program
BLOCK_S = 0.25  # long enough that starting and draining the GPU does not count
CHECK_STEPS = 20
RECORDINGS = 5
# Not marked as steps: the first calls under a new recording set it up.
RECORD_WARM_STEPS = 5
DRY_STEPS = 8


@dataclasses.dataclass
class Measured:
    """Microseconds a step, of blocks that were not recorded."""

    as_is: list[float]
    fixed: list[float]
    steps_per_block: int


def timed_block(loop: Loop, steps: int) -> float:
    """Microseconds a step in a running loop."""
    loop.run(max(3, steps // 10))
    loop.wait()
    start = time.perf_counter()
    loop.run(steps)
    loop.wait()
    return (time.perf_counter() - start) / steps * 1e6


def measure(as_is: Loop, fixed: Loop) -> Measured:
    estimate_us = timed_block(as_is, 10)
    timed_block(fixed, 10)
    steps = min(400, max(20, round(BLOCK_S * 1e6 / estimate_us)))
    measured = Measured([], [], steps)
    order = random.Random(0)
    for _ in range(BLOCKS):
        for loop in order.sample([as_is, fixed], 2):
            (measured.as_is if loop is as_is else measured.fixed).append(timed_block(loop, steps))
    return measured


def record(loop: Loop, path: str, steps: int) -> float:
    """Records `steps` steps into the run directory `path`. Returns microseconds a step while recording."""
    import turnpike

    loop.wait()
    with turnpike.record(path):
        loop.run(RECORD_WARM_STEPS)
        loop.wait()
        start = time.perf_counter()
        loop.run(steps, marked=True)
        loop.wait()
        recorded_us = (time.perf_counter() - start) / steps * 1e6
    return recorded_us


def whatif(run: str, edits: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """The prediction. Raises when there is none, or an edit found nothing to change."""
    options = [word for edit in edits for word in ("--edit", edit)]
    answer = turnpike_json("whatif", run, *options, "--json", environment=environment)
    if answer["predicted_step_ns"] is None:
        raise RuntimeError(f"turnpike whatif predicts nothing: {answer}")
    if idle := [edit["edit"] for edit in answer["edits"] if edit["calls"] == 0]:
        raise RuntimeError(f"turnpike whatif found nothing to change for {', '.join(idle)}")
    return answer


def measure_link(cache: str) -> dict[str, str]:
    """The environment in which Turnpike knows the rates of the link: it keeps them in the folder `cache`."""
    environment = os.environ | {"XDG_CACHE_HOME": cache}
    turnpike_text("bench", "link", environment=environment)
    return environment


def kept_link(environment: dict[str, str], device: str) -> dict[str, Any]:
    with open(os.path.join(environment["XDG_CACHE_HOME"], "turnpike", "link.json")) as file:
        kept = [link for link in json.load(file)["links"] if link["device_name"] == device]
    if not kept:
        raise RuntimeError(f"`turnpike bench link` kept no rate of {device}")
    return kept[0]


def result_row(pair: Pair, measured: Measured, **more: Any) -> dict[str, Any]:
    """The row of a pair. Without a prediction its target is missed."""
    as_is, fixed = statistics.median(measured.as_is), statistics.median(measured.fixed)
    prediction = more.pop("prediction")
    predicted = error_pct = sign_right = None
    if prediction is not None:
        predicted = prediction["predicted_step_ns"] / 1e3
        error_pct = (predicted / fixed - 1) * 100
        sign_right = (predicted < as_is) == (fixed < as_is)
    return result_file.row(
        pair.name,
        "step_time",
        "us",
        rounded(predicted),
        samples=BLOCKS,
        baseline="the fixed program, measured",
        baseline_value=rounded(fixed),
        target=TARGET_PCT,
        met=error_pct is not None and abs(error_pct) <= TARGET_PCT and bool(sign_right),
        measured_as_is=rounded(as_is),
        measured_as_is_spread=interval(measured.as_is),
        measured_fixed=rounded(fixed),
        measured_fixed_spread=interval(measured.fixed),
        recorded_as_is=rounded(prediction["measured_step_ns"] / 1e3 if prediction else None),
        predicted_fixed=rounded(predicted),
        error_pct=rounded(error_pct),
        sign_right=sign_right,
        steps_per_block=measured.steps_per_block,
        edits=pair.edits(),
        model={key: (prediction or {}).get(key) for key in ("retimed_step_ns", "typical_step_ns", "contradicted")},
        **more,
    )


def run_pair(pair: Pair, folder: str, traces: str | None, environment: dict[str, str]) -> dict[str, Any]:
    """Measures, records and predicts one pair."""
    as_is, fixed = pair.loops("cuda")
    check(pair, as_is, fixed, CHECK_STEPS)
    measured = measure(as_is, fixed)
    problems: list[str] = []
    prediction = None
    more: dict[str, Any] = dict.fromkeys(("recorded_wall_as_is", "recorded_wall_fixed", "trace_bytes", "findings"))
    try:
        walls, tries = [], [os.path.join(folder, f"{pair.name}-{number}.tpk") for number in range(RECORDINGS)]
        for path in tries:
            walls.append((record(as_is, path, pair.steps), path))
        as_is_us = statistics.median(measured.as_is)
        wall, chosen = min(walls, key=lambda taken: abs(taken[0] - as_is_us))
        runs = [chosen, os.path.join(folder, f"{pair.name}-fixed-0.tpk")]
        more["recorded_wall_as_is"] = rounded(wall)
        # As often as the first: both have made as many steps when their results are compared.
        paths = [os.path.join(folder, f"{pair.name}-fixed-{number}.tpk") for number in range(RECORDINGS)]
        more["recorded_wall_fixed"] = rounded(statistics.median(record(fixed, path, pair.steps) for path in paths))
        more["trace_bytes"] = sum(entry.stat().st_size for entry in os.scandir(runs[0]))
        if traces:
            keep_trace(pair, measured, runs[0], traces, environment)
        reports = [turnpike_json("report", run, "--json", environment=environment) for run in runs]
        more["findings"] = [
            {key: finding.get(key) for key in ("rule", "site", "saving_ns", "saving_pct")}
            for finding in reports[0]["findings"]
        ]
        problems += [f"losses: {report['losses']}" for report in reports if report["losses"]]
        prediction = whatif(runs[0], pair.edits(), environment)
    except Exception as error:  # what was measured is worth keeping without a prediction
        problems.append(f"{type(error).__name__}: {error}")
    pair.compare(as_is.result(), fixed.result())
    return result_row(pair, measured, prediction=prediction, problems=problems, **more)


def check(pair: Pair, as_is: Loop, fixed: Loop, steps: int) -> None:
    """Runs both for as many steps and compares what they computed."""
    as_is.run(steps)
    fixed.run(steps)
    as_is.wait()
    pair.compare(as_is.result(), fixed.result())


def keep_trace(pair: Pair, measured: Measured, run: str, folder: str, environment: dict[str, str]) -> None:
    """Keeps a recording and what was measured beside it, for tests/golden/test_whatif.py."""
    kept = os.path.join(folder, f"{pair.name}.tpk")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(run, kept)
    device = result_file.gpu_names()[0]
    facts = {
        "pair": pair.name,
        "edits": pair.edits(),
        "measured_as_is_ns": round(statistics.median(measured.as_is) * 1e3),
        "measured_fixed_ns": round(statistics.median(measured.fixed) * 1e3),
        "link": kept_link(environment, device),
        "device": device,
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }
    with open(os.path.join(folder, f"{pair.name}.json"), "w") as file:
        json.dump(facts, file, indent=1)
        file.write("\n")


def show_head() -> None:
    columns = f"{'as it is':>10} {'fixed':>10} {'gain':>7} {'predicted':>10} {'error':>8}"
    print(f"{'us a step':18} {columns}  edits", flush=True)


def show(row: dict[str, Any]) -> None:
    gain = (1 - row["measured_fixed"] / row["measured_as_is"]) * 100
    numbers = f"{row['measured_as_is']:10.1f} {row['measured_fixed']:10.1f} {gain:6.1f}%"
    if row["predicted_fixed"] is None:
        prediction = f"{'none':>10} {'':8}"
    else:
        prediction = f"{row['predicted_fixed']:10.1f} {row['error_pct']:+7.1f}%"
    judged = "" if row["met"] else "  MISSED" + ("" if row["sign_right"] in (True, None) else ", wrong sign")
    print(f"{row['case']:18} {numbers} {prediction}  {' '.join(row['edits'])}{judged}", flush=True)
    for problem in row["problems"]:
        print(f"    {problem}", flush=True)


def release() -> None:
    gc.collect()
    torch.cuda.empty_cache()


def run_all(names: list[str], folder: str, traces: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the pairs that ran, and a sentence for each that failed."""
    rows, failures = [], []
    environment = measure_link(os.path.join(folder, "cache"))
    show_head()
    for name in names:
        pair = pairs.load(name)
        if pair.gpus > torch.cuda.device_count():
            print(f"{name:18} skipped: it needs {pair.gpus} GPUs", flush=True)
            continue
        try:
            rows.append(run_pair(pair, folder, traces, environment))
            show(rows[-1])
            if rows[-1]["problems"]:
                failures.append(f"{name}: {rows[-1]['problems'][0]}")
        except Exception as error:  # one pair's failure must not hide the others
            failures.append(f"{name}: {type(error).__name__}: {error}")
            print(f"{name:18} FAILED: {type(error).__name__}: {error}", flush=True)
        release()
    return rows, failures


def dry_run(names: list[str], device: str) -> list[str]:
    """Runs each pair for a few steps and compares; a sentence for each that failed."""
    if device == "cpu":
        cpu_stand_in.install()
    failures = []
    for name in names:
        try:
            pair = pairs.load(name, dry_run=True)
            if device == "cuda" and pair.gpus > torch.cuda.device_count():
                print(f"{name:18} skipped: it needs {pair.gpus} GPUs")
                continue
            as_is, fixed = pair.loops(device)
            check(pair, as_is, fixed, DRY_STEPS)
            for loop in (as_is, fixed):
                loop.run(3, marked=True)
            pair.compare(as_is.result(), fixed.result())
            print(f"{name:18} ok       {' '.join(pair.edits())}")
        except Exception as error:
            failures.append(name)
            print(f"{name:18} FAILED   {type(error).__name__}: {error}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", help=f"default: all of {', '.join(pairs.names())}")
    parser.add_argument("--out", help="default: bench/results/whatif-GPU.json, or whatif-GPUxN.json with N GPUs")
    parser.add_argument("--traces", help="a directory that gets the recordings, for tests/golden/whatif")
    parser.add_argument("--dry-run", action="store_true", help="small sizes, a few steps, no recording")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: only with --dry-run")
    args = parser.parse_args()
    names = args.pairs.split(",") if args.pairs else pairs.names()
    if unknown := set(names) - set(pairs.names()):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(pairs.names())}")
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; to try the programs out: --dry-run --device cpu")
    if args.dry_run:
        return 1 if dry_run(names, args.device) else 0
    if args.device == "cpu":
        parser.error("there is nothing to measure on a CPU; add --dry-run")
    if args.traces:
        os.makedirs(args.traces, exist_ok=True)

    gc.disable()  # a collection in one block and not in another is noise
    with tempfile.TemporaryDirectory(prefix="whatif-") as folder:
        rows, failures = run_all(names, folder, args.traces)
    count = torch.cuda.device_count()
    gpu = result_file.short_gpu_name() + (f"x{count}" if count > 1 else "")
    out = args.out or os.path.join(os.path.dirname(HERE), "results", f"whatif-{gpu}.json")
    result_file.write(out, "whatif", rows, failures=failures)
    print(f"{sum(row['met'] for row in rows)} of {len(rows)} within {TARGET_PCT:g} %, {len(failures)} failed: {out}")
    return 1 if failures or not all(row["met"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
