#!/usr/bin/env python3
"""The catalogue of known faults: runs each program twice, with plain PyTorch and with Turnpike, and compares.

    tests/gpu/differential/faults.py [--only WORD]... [--jobs 6] [--device cuda] [--out RESULTS.json] [--list]

Each run is a process of its own; how it ends is compared, too. Prints OK, DIFFERS, or why there is no verdict: the GPUs
or the package are not there, or plain PyTorch itself did not end. Programs that measure times run alone, after the
others. Exits 1 when one differs.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "bench")]

import result_file  # noqa: E402
from catalogue import Fault, all_faults  # noqa: E402


@dataclasses.dataclass
class Verdict:
    fault: Fault
    word: str  # OK, DIFFERS, or NO VERDICT
    why: list[str]
    seconds: float = 0.0


def run_one(name: str, way_name: str, device: str, path: str) -> None:
    """In a process of its own: runs one program in one way, and writes what it let be seen to `path`."""
    import ways
    from observe import Log
    from stage import Stage

    fault = all_faults()[name]
    log, stage, error = Log(way_name == "tp"), Stage(device), None
    try:
        fault.program(ways.of_name(way_name), log, stage)
        stage.settle()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
        traceback.print_exc()
    with open(path, "w") as file:
        json.dump({**log.as_data(), "error": error}, file)
    stage.close()


def both_runs(fault: Fault, device: str) -> Verdict:
    """The verdict over a program."""
    started = time.monotonic()
    lacking = [name for name in fault.needs if importlib.util.find_spec(name) is None]
    if lacking:
        return Verdict(fault, "NO VERDICT", [f"{lacking[0]} is not installed"])
    if fault.gpus > 1 and (device == "cpu" or len(result_file.gpu_names()) < fault.gpus):
        return Verdict(fault, "NO VERDICT", [f"it needs {fault.gpus} GPUs"])
    plain, tp = (_run(fault, way, device) for way in ("plain", "tp"))
    seconds = time.monotonic() - started
    if plain["status"] == "hung" or plain["data"] is None or plain["data"]["error"]:
        why = f"plain PyTorch: {plain['status']}, {(plain['data'] or {}).get('error')}"
        return Verdict(fault, "NO VERDICT", [why, *plain["tail"]], seconds)
    why = _differences(plain, tp)
    return Verdict(fault, "DIFFERS" if why else "OK", why, seconds)


def _run(fault: Fault, way: str, device: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.json")
        command = [sys.executable, os.path.abspath(__file__), "--one", fault.name, way, path, "--device", device]
        environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", **fault.environment}
        if device == "cuda":
            environment["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a fork before CUDA is used stays one
        with open(os.path.join(folder, "output"), "w+") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
            try:
                status: Any = process.wait(fault.timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = "hung"
            output.seek(0)
            tail = output.read().splitlines()[-6:]
        data = None
        if os.path.exists(path):
            with open(path) as file:
                data = json.load(file)
        return {"status": status, "data": data, "tail": tail}


def _differences(plain: dict[str, Any], tp: dict[str, Any]) -> list[str]:
    import observe

    why = []
    if plain["status"] != tp["status"] and tp["status"] != 0:  # where plain PyTorch aborts, to end well is no fault
        why.append(f"the process ended with {tp['status']}, plain {plain['status']}: {' | '.join(tp['tail'][-3:])}")
    if tp["data"] is None:
        return why or ["nothing was written"]
    if tp["data"]["error"]:
        why.append(f"raised {tp['data']['error']}")
    return why + [str(difference) for difference in observe.differences(plain["data"], tp["data"])]


def run_all(faults: list[Fault], device: str, jobs: int) -> list[Verdict]:
    verdicts = []
    for is_alone in (False, True):
        chosen = [fault for fault in faults if fault.is_alone is is_alone]
        with concurrent.futures.ThreadPoolExecutor(1 if is_alone else jobs) as pool:
            for done in concurrent.futures.as_completed([pool.submit(both_runs, fault, device) for fault in chosen]):
                verdicts.append(done.result())
                _print(verdicts[-1])
    return sorted(verdicts, key=lambda verdict: verdict.fault.name)


def _print(verdict: Verdict) -> None:
    print(f"{verdict.word:10} {verdict.fault.name} ({verdict.seconds:.0f} s)", flush=True)
    for line in verdict.why[:4]:
        print(f"           {line[:300]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="a number of a fault, or a word of a name")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: a dry run, where all are equal")
    parser.add_argument("--out", help="where to write the result file")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_one(arguments.one[0], arguments.one[1], arguments.device, arguments.one[2])
        return 0
    faults = [
        fault
        for name, fault in all_faults().items()
        if not arguments.only or any(word == fault.number or "-" + word in name for word in arguments.only)
    ]
    if arguments.list:
        print("\n".join(f"{fault.name:42} random programs: {fault.covered_by}" for fault in faults))
        return 0
    verdicts = run_all(faults, arguments.device, arguments.jobs)
    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in ("OK", "DIFFERS", "NO VERDICT")}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    if arguments.out:
        result_file.write(arguments.out, "move-faults", [_row(verdict) for verdict in verdicts], counts=counts)
    return 1 if counts["DIFFERS"] else 0


def _row(verdict: Verdict) -> dict[str, Any]:
    is_same = {"OK": True, "DIFFERS": False}.get(verdict.word)
    return result_file.row(
        verdict.fault.name, "same as PyTorch", "programs", None if is_same is None else int(is_same), target=1,
        met=is_same, fault=verdict.fault.number, covered_by=verdict.fault.covered_by, why=verdict.why[:4],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
