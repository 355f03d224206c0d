#!/usr/bin/env python3
"""Trains with six libraries, each with a plain loop and with tp.prefetch: same losses and parameters, to the last bit.

    tests/gpu/libraries/run.py [--only NAME]... [--device cuda] [--out RESULTS.json]

Each library has a process, in which it trains four times in turn: plain, with tp.prefetch, and both again. The two
plain ones say whether the library itself is deterministic; where it is not there is no verdict. The times of a step are
of the second two. Exits 1 when something was not the same.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "bench")]

import result_file  # noqa: E402

# Name: module and function.
CASES = {
    "transformers Trainer": ("hf_trainer", "train"),
    "Lightning": ("lightning_fit", "train"),
    "accelerate": ("accelerate_loop", "train"),
    "timm create_loader": ("timm_loop", "train"),
    "timm PrefetchLoader": ("timm_loop", "train_with_prefetch_loader"),
    "torchvision detection": ("detection", "train"),
    "PyG": ("graphs", "train"),
}
TIMEOUT_S = 180


def run_one(name: str, device_name: str) -> dict[str, Any]:
    """In a process of its own: what the four trainings gave."""
    import torch

    import turnpike as tp

    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation.*")
    device = torch.device(device_name)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    if device.type == "cpu":
        torch.set_num_threads(2)
    module, function = CASES[name]
    train = getattr(importlib.import_module(module), function)
    found: dict[str, list[Any]] = {"plain": [], "prefetch": []}
    for _ in range(2):
        for way, wrap in (("plain", None), ("prefetch", lambda loader: tp.prefetch(loader, device))):
            try:
                trained = train(wrap, device)
                found[way].append([trained.numbers, _digest(trained.model), trained.step_ms])
            except Exception as error:
                if way == "plain":
                    raise
                found[way].append([[f"raised {type(error).__name__}: {error}"], "", None])
    return found


def _digest(model: Any) -> str:
    """A checksum of all parameters and buffers."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode() + value.detach().cpu().contiguous().flatten().numpy().tobytes())
    return digest.hexdigest()


def verdict(found: dict[str, list[Any]]) -> tuple[bool | None, str]:
    """Whether tp.prefetch gave what the plain loop gave; None when that is not the same twice."""
    first, second = found["plain"]
    if first[:2] != second[:2]:
        return None, f"the plain loop itself is not deterministic: {_first_difference(first, second)}"
    for other in found["prefetch"]:
        if other[:2] != first[:2]:
            return False, _first_difference(first, other)
    return True, ""


def _first_difference(ours: list[Any], theirs: list[Any]) -> str:
    if len(ours[0]) != len(theirs[0]):
        return f"{len(ours[0])} numbers and {len(theirs[0])}: {theirs[0][0][:200]}"
    for index, (one, other) in enumerate(zip(ours[0], theirs[0], strict=True)):
        if one != other:
            return f"number {index} of {len(ours[0])}: {one[:100]} and {other[:100]}"
    return "the parameters at the end"


def row_of(name: str, device: str) -> dict[str, Any]:
    lacking = [need for need in importlib.import_module(CASES[name][0]).NEEDS if importlib.util.find_spec(need) is None]
    if lacking:
        return _row(name, None, f"{lacking[0]} is not installed", None)
    command = [sys.executable, os.path.abspath(__file__), "--one", name, "--device", device]
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return _row(name, False, f"did not end within {TIMEOUT_S} s", None)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        return _row(name, False, f"exit {done.returncode}: {' | '.join(lines[-3:])}", None)
    found = json.loads(done.stdout.splitlines()[-1])
    return _row(name, *verdict(found), found)


def _row(name: str, is_same: bool | None, why: str, found: dict[str, list[Any]] | None) -> dict[str, Any]:
    plain, ours = (found[way][1][2] if found else None for way in ("plain", "prefetch"))
    row = result_file.row(
        name, "step", "ms", ours, baseline="plain loop", baseline_value=plain, met=is_same,
        is_same=is_same, why=why, numbers=len(found["plain"][0][0]) if found else 0,
    )  # fmt: skip
    word = {True: "SAME", False: "DIFFERS", None: "NO VERDICT"}[is_same]
    times = f"{ours:.2f} ms a step, plain {plain:.2f}" if ours and plain else ""
    print(f"{word:10} {name:24} {row['numbers']} numbers  {times}  {why[:300]}", flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=sorted(CASES), metavar="NAME")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: a dry run")
    parser.add_argument("--out", help="where to write the result file")
    parser.add_argument("--one", choices=sorted(CASES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        found = run_one(arguments.one, arguments.device)
        print(json.dumps(found))
        return 0
    rows = [row_of(name, arguments.device) for name in arguments.only or CASES]
    if arguments.out:
        result_file.write(arguments.out, "move-libraries", rows)
    return 1 if any(row["is_same"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
