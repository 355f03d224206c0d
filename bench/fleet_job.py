"""Writes the recordings of a large job, rank by rank, with planted faults: for bench/fleet.py and the tests."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "examples" / "train-before-h100.tpk" / "1765.tpt"
RANKS_OF_HOST = 8
SLOWNESS = 1.2
# The line at which a fault of each rule is; None: at no line.
_UPLOAD = "train_before.py:63"
LINES = {
    "slow_rank": None, "drift": None, "slow_link": _UPLOAD, "wrong_pinning": _UPLOAD, "wrong_numa_node": _UPLOAD,
    "uneven_bytes": _UPLOAD, "diverging_code": "train.py:77",
}  # fmt: skip


def host_of(rank: int) -> str:
    return f"host{rank // RANKS_OF_HOST:03}"


def arguments(rank: int, world_size: int, seed: int, steps: int, faults: Mapping[int, Mapping[str, Any]],
              period_ms: float = 100) -> list[str]:  # fmt: skip
    """What fleet_traces is called with. faults: by rank, keys of `Asked` in fleet_traces.cpp with their values."""
    slowest = max([1.0, *(float(fault.get("own", 1)) for fault in faults.values())])
    values = {
        "rank": rank, "local_rank": rank % RANKS_OF_HOST, "world_size": world_size, "host": host_of(rank),
        "pid": 1000 + rank, "seed": seed, "steps": steps, "period_ms": period_ms, "slowest": slowest, "job": "job17",
        # Clocks of hosts are seconds apart.
        "clock_s": (rank // RANKS_OF_HOST * 7919 % 11) - 5, **faults.get(rank, {}),
    }  # fmt: skip
    return [f"{key}={value}" for key, value in values.items()]


def write_rank(program: pathlib.Path, folder: pathlib.Path, rank: int, words: Sequence[str]) -> pathlib.Path:
    """One run of one process, as each task of a Slurm job leaves it."""
    run = folder / f"run-{rank}.tpk"
    run.mkdir(parents=True)
    trace = run / f"{1000 + rank}.tpt"
    subprocess.run([str(program), str(SOURCE), str(trace), *words], check=True)
    return trace


def planted(world_size: int) -> dict[str, dict[int, dict[str, Any]]]:
    """One fault of each kind, by rule: the ranks that have it and how. Needs 64 ranks."""
    host = range(world_size // 2, world_size // 2 + RANKS_OF_HOST)
    return {
        "slow_rank": {world_size - 3: {"own": SLOWNESS}},
        "slow_link": {9: {"rate": 0.5, "width": 8}},
        "wrong_pinning": {rank: {"pinned": 0} for rank in host},
        "wrong_numa_node": {21: {"far": 1}},
        "diverging_code": {0: {"extra": 1}},
        "uneven_bytes": {27: {"bytes": 1.5}},
        "drift": {13: {"drift": 0.3}},
    }
