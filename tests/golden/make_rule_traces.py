#!/usr/bin/env python3
"""Records two programs for each rule: one in which it must fire, and one that looks alike, in which it must not.

    tests/golden/make_rule_traces.py DIR [--rules a,b]     DIR/RULE-positive.tpk, DIR/RULE-near.tpk, DIR/expected.json
    tests/golden/make_rule_traces.py --dry-run             only runs them, on a CPU if there is no GPU

A program is a function of rule_programs/RULE.py: `positive` and `near`, each given the device. It returns a step, or a
step and what comes after the last one. The line where the rule must point ends in "# <- site". expected.json says
{RULE: {"positive": {"file", "line"}, "near": null}}; "line" is null where a rule is about the step, not about a line.
It is updated, so that the rules for two GPUs can be recorded on another machine.
"""

from __future__ import annotations

import argparse
import gc
import glob
import importlib.util
import json
import os
import shutil
import sys
from types import ModuleType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "rule_programs")
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bench", "whatif")]

# NVTX looks for its listener at the first range of the process only.
if importlib.util.find_spec("turnpike") is not None:
    from turnpike import _native

    os.environ.setdefault("NVTX_INJECTION64_PATH", _native.RECORD_LIBRARY)

import cpu_stand_in  # noqa: E402
import torch  # noqa: E402

STEPS = 10
WARM_STEPS = 5
KINDS = ("positive", "near")


def rules() -> list[str]:
    return sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(PROGRAMS, "*.py")))


def load(rule: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rule_{rule}", os.path.join(PROGRAMS, rule + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site(rule: str) -> dict[str, Any]:
    """Where the rule must point in its positive program. Programs that share their step share the line."""
    name = rule + ".py"
    with open(os.path.join(PROGRAMS, name)) as file:
        lines = [number for number, text in enumerate(file, 1) if text.rstrip().endswith("# <- site")]
    if len(lines) > 1:
        raise ValueError(f"{name}: the site is marked on lines {lines}, not on one")
    return {"file": name, "line": lines[0] if lines else None}


def build(module: ModuleType, kind: str, device: str):
    torch.manual_seed(0)
    made = getattr(module, kind)(device)
    return made if isinstance(made, tuple) else (made, lambda: None)


def run(step, first: int, count: int) -> None:
    for i in range(first, first + count):
        with torch.cuda.nvtx.range("step"):
            step(i)


def record(module: ModuleType, kind: str, path: str) -> int:
    """Records the program into the run directory `path`, which is replaced. Returns its size in bytes."""
    import turnpike

    release()
    step, after = build(module, kind, "cuda")
    warm_steps = getattr(module, "WARM_STEPS", WARM_STEPS)
    run(step, 0, warm_steps)
    wait(module)
    shutil.rmtree(path, ignore_errors=True)
    with turnpike.record(path):
        run(step, warm_steps, STEPS)
        after()
        wait(module)
    return sum(entry.stat().st_size for entry in os.scandir(path))


def wait(module: ModuleType) -> None:
    for gpu in range(getattr(module, "GPUS", 1)):
        torch.cuda.synchronize(gpu)


def warm_up() -> None:
    """Makes what a process makes once: the context and the handles of libraries."""
    x = torch.ones(64, 64, device="cuda")
    torch.addmm(x, x, x).mean().item()


def release() -> None:
    """Gives memory back, so that a program finds none of that of another, neither on the device nor page-locked."""
    gc.collect()
    torch.cuda.empty_cache()
    torch._C._host_emptyCache()


def lacks(module: ModuleType, device: str) -> str | None:
    if device == "cpu":
        return "it needs CUDA itself" if hasattr(module, "NEEDS_CUDA") else None
    gpus = getattr(module, "GPUS", 1)
    return f"it needs {gpus} GPUs" if gpus > torch.cuda.device_count() else None


def update_expected(folder: str, rule: str) -> None:
    path = os.path.join(folder, "expected.json")
    expected = {}
    if os.path.exists(path):
        with open(path) as file:
            expected = json.load(file)
    expected[rule] = {"positive": site(rule), "near": None}
    with open(path + ".new", "w") as file:
        json.dump(dict(sorted(expected.items())), file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def make(rule: str, folder: str | None, device: str) -> str:
    """Runs or records both programs of a rule. Returns what to print."""
    module = load(rule)
    if why := lacks(module, device):
        return f"skipped: {why}"
    if folder is None:
        for kind in KINDS:
            step, after = build(module, kind, device)
            run(step, 0, 3)
            after()
        return f"ok       line {site(rule)['line']}"
    sizes = [record(module, kind, os.path.join(folder, f"{rule}-{kind}.tpk")) for kind in KINDS]
    update_expected(folder, rule)
    return f"line {site(rule)['line']}, {sizes[0]} and {sizes[1]} bytes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", metavar="DIR")
    parser.add_argument("--rules", help=f"default: all of {', '.join(rules())}")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    names = args.rules.split(",") if args.rules else rules()
    if unknown := set(names) - set(rules()):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(rules())}")
    if (args.folder is None) != args.dry_run:
        parser.error("give either a directory or --dry-run")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        if not args.dry_run:
            parser.error("PyTorch sees no GPU; to try the programs out: --dry-run")
        cpu_stand_in.install()
    else:
        warm_up()
    if args.folder:
        os.makedirs(args.folder, exist_ok=True)
    failed = 0
    for rule in names:
        try:
            print(f"{rule:28} {make(rule, args.folder, device)}", flush=True)
        except Exception as error:  # one program's failure must not hide the others
            failed += 1
            print(f"{rule:28} FAILED: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
