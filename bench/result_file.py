"""Writes the result files under bench/results: one form for every benchmark and every suite that runs on a GPU."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def row(
    case: str,
    metric: str,
    unit: str,
    value: float | None,
    *,
    spread: Any = None,
    samples: int = 1,
    baseline: str | None = None,
    baseline_value: float | None = None,
    target: float | None = None,
    met: bool | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One row of a result file.

    spread: the 95 % interval as [low, high], or None. ratio: value over baseline_value, computed here.
    met: whether the target is met; None when the row has no target.
    """
    ratio = value / baseline_value if value is not None and baseline_value else None
    return {
        "case": case,
        "metric": metric,
        "unit": unit,
        "value": value,
        "spread": spread,
        "samples": samples,
        "baseline": baseline,
        "baseline_value": baseline_value,
        "ratio": ratio,
        "target": target,
        "met": met,
        **more,
    }


def write(path: str, name: str, rows: list[dict[str, Any]], command: list[str] | None = None, **more: Any) -> None:
    """Writes `rows` as the result file `path`, whole or not at all. command: what to run again; sys.argv by default."""
    gpus = gpu_names()
    result = {
        "schema": 1,
        "name": name,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": gpus[0] if gpus else "none",
        "device_count": len(gpus),
        "versions": versions(),
        "command": shlex.join(command if command is not None else ["python", *map(_anywhere, sys.argv)]),
        **more,
        "rows": rows,
    }
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(_finite(result), file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def _anywhere(argument: str) -> str:
    """An argument as it can be given on any machine: paths below the project from its root, others without folders."""
    if not os.path.isabs(argument):
        return argument
    below = os.path.relpath(argument, ROOT)
    return os.path.basename(argument) if below.startswith("..") else below


def gpu_names() -> list[str]:
    """The names of the GPUs as the driver gives them; empty when there is none."""
    return _nvidia_smi("name")


def short_gpu_name() -> str:
    """The GPU's model for file names: "h100" for "NVIDIA H100 80GB HBM3"; "none" without a GPU."""
    names = gpu_names()
    if not names:
        return "none"
    models = [word for word in re.split(r"[\s-]+", names[0]) if any(c.isdigit() for c in word) and "GB" not in word]
    return (models[0] if models else names[0].split()[-1]).lower()


def versions() -> dict[str, str | None]:
    """What the figures depend on. None: not installed, or not known."""
    driver = _nvidia_smi("driver_version")
    return {
        "turnpike": _package("turnpike-gpu"),
        "python": platform.python_version(),
        "torch": _package("torch"),
        "driver": driver[0] if driver else None,
        "cuda_runtime": _package("nvidia-cuda-runtime"),
        "cupti": _package("nvidia-cuda-cupti"),
        "kernel": platform.release(),
    }


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _nvidia_smi(field: str) -> list[str]:
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in output.stdout.splitlines() if line.strip()] if output.returncode == 0 else []


def _finite(value: Any) -> Any:
    # NaN and infinity are no JSON: what could not be measured is null.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
