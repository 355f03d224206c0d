"""The rows and the result file of `turnpike bench`: the form of bench/result_file.py."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import shlex
import subprocess
from typing import Any

from turnpike._bench import figures
from turnpike._bench.timing import Case, Samples

METRICS = {"GB/s": "rate", "ms": "time", "us": "time", "MiB": "memory"}


def rows_of(experiment: str, case: Case, samples: Samples) -> list[dict[str, Any]]:
    """A row for each way and metric, told against the baseline, and a row for each target."""
    roles = {way.name: way.role for way in case.ways}
    rows = []
    for metric, ways in samples.by_metric.items():
        for way in ways:
            shared = {"experiment": experiment, "role": roles.get(way, "bound")}
            targets = [target for target in case.targets if (target.way, target.metric) == (way, metric)]
            first = _row(case, samples, metric, way, case.baseline if case.baseline in ways else None)
            own = [_with_target(case, samples, target) for target in targets]
            rows += [{**first, **shared}] + [{**row, **shared} for row in own]
    return rows


def _row(case: Case, samples: Samples, metric: str, way: str, baseline: str | None) -> dict[str, Any]:
    ways = samples.by_metric[metric]
    unit = case.extras[metric] if metric else case.unit
    value = figures.spread(ways[way])
    others = ways[baseline] if baseline else None
    ratio = figures.spread(figures.ratios(ways[way], others)) if others else None
    bound = ways.get(case.bound) if case.bound else None
    return {
        "case": case.name,
        "metric": metric or METRICS[unit],
        "unit": unit,
        "way": way,
        "value": value.median,
        "spread": [value.low, value.high],
        "samples": value.samples,
        "baseline": baseline,
        "baseline_value": figures.spread(others).median if others else None,
        "ratio": ratio.median if ratio else None,
        "ratio_spread": [ratio.low, ratio.high] if ratio else None,
        "target": None,
        "met": None,
        "bound": case.bound if bound else None,
        "bound_value": figures.spread(bound).median if bound else None,
        "of_bound": _of_bound(unit, ways[way], bound),
        "size_bytes": case.size_bytes,
        "series": case.series,
    }


def _of_bound(unit: str, values: list[float], bound: list[float] | None) -> float | None:
    """Which share of what the hardware can do was reached."""
    if not bound:
        return None
    return figures.speedup(unit, figures.spread(figures.ratios(values, bound)).median)


def _with_target(case: Case, samples: Samples, target: figures.Target) -> dict[str, Any]:
    ways = samples.by_metric[target.metric]
    reached = target.reached(ways[target.way], ways[target.against] if target.against else None)
    return {
        **_row(case, samples, target.metric, target.way, target.against),
        "target": target.limit,
        "target_is": target.kind,
        "target_text": target.text,
        "reached": reached,
        "met": target.is_met(reached),
    }


def document(
    rows: list[dict[str, Any]],
    experiments: list[str],
    arguments: list[str],
    machine: dict[str, Any],
    problems: list[str],
) -> dict[str, Any]:
    """The whole result. machine: as Machine.facts() gives it."""
    return {
        "schema": 1,
        "name": experiments[0] if len(experiments) == 1 else "move",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **machine,
        "command": shlex.join(["turnpike", "bench", *_elsewhere(arguments)]),
        "spread_is": "quartiles",
        "experiments": experiments,
        "problems": problems,
        "rows": rows,
    }


def _elsewhere(arguments: list[str]) -> list[str]:
    # As the command can be given on any machine: paths without their folders.
    return [os.path.basename(word) if os.path.isabs(word) else word for word in arguments]


def text(result: dict[str, Any]) -> str:
    return json.dumps(_finite(result), indent=1) + "\n"


def write(path: str, result: dict[str, Any]) -> None:
    """Whole or not at all."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w") as file:
        file.write(text(result))
    os.replace(path + ".new", path)


def versions() -> dict[str, str | None]:
    """What the figures depend on. None: not installed, or not known."""
    return {
        "turnpike": _package("turnpike-gpu"),
        "python": platform.python_version(),
        "torch": _package("torch"),
        "driver": _driver(),
        "cuda_runtime": _package("nvidia-cuda-runtime"),
        "kernel": platform.release(),
    }


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _driver() -> str | None:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = output.stdout.split()
    return lines[0] if output.returncode == 0 and lines else None


def _finite(value: Any) -> Any:
    # NaN and infinity are no JSON: what could not be measured is null.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
