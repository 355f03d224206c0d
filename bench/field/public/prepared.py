"""Prepares programs to be measured: their data, and scratch copies with a patch and the line that notes the steps."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hook
import make_data
import run

HERE = Path(__file__).resolve().parent
# Those that take long are made first. The others are made in any order.
LONG = ("llama", "criteo", "carvana", "modelnet40", "sts", "imagenet", "e2e", "coco_instances", "sentences")
# A process of its own in a group of programs cannot use the port that the program has fixed. With these variables the
# program takes the way of its README, which starts it by a launcher.
LAUNCHED = {"dino": {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}}
FIRST_PORT = 29600
# Seconds until a program is ready, where it takes longer than others: it compiles, or makes a large model on the CPU.
START_S = 75.0
SLOW_S = {"gpt_fast": 200.0, "dlrm": 120.0, "whisper": 120.0, "rotate": 120.0, "segment_anything": 120.0}

# Programs that let cuDNN choose the fastest algorithms take their first steps when they are alone.
READY_STEPS = {"cifar": 0, "dino": 0, "hifigan": 0, "ncf": 0, "captioning": 0, "edm": 0, "stargan": 0, "swin": 0}
# For a try on a CPU, which shows no more than that the steps are noted.
FEW_STEPS = {"FIELD_READY_STEPS": "1", "FIELD_LONGEST_WARM_S": "0", "FIELD_STEPS": "2", "FIELD_WINDOW_S": "0",
             "FIELD_LONGEST_WINDOW_S": "60"}  # fmt: skip

Program = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Copy:
    """A scratch copy of a program, and how it is called."""

    program: Program
    name: str  # that of the program and of the variant
    root: Path
    folder: Path  # in which the command runs
    words: list[str]
    settings: dict[str, str]
    hook_line: int  # in the file of the `step`

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def options(parser: argparse.ArgumentParser) -> None:
    """The options that record.py and measure.py share."""
    parser.add_argument("repositories", type=Path, help="the folder of the checkouts")
    parser.add_argument("scratch", type=Path, help="a folder for copies and data")
    parser.add_argument("--out", type=Path, default=Path("out"), help="the folder of the results")
    parser.add_argument("--programs", type=Path, default=run.PROGRAMS, metavar="FILE", help="the list of the programs")
    parser.add_argument("--only", default="", help="the programs, with commas between them (default: all)")
    parser.add_argument("--together", type=int, default=6, help="programs that start together")
    parser.add_argument("--at-once", type=int, default=12, help="processes that make data")
    parser.add_argument("--seconds-in-all", type=float, default=540, help="no program begins after that")
    parser.add_argument("--started", type=float, default=time.time(), help="since when, in seconds since 1970")
    parser.add_argument("--data-seconds", type=float, default=100, help="data that takes longer is left out")
    parser.add_argument("--cpu", action="store_true", help="replace the GPU in the copy: only for a try")
    parser.add_argument("--patience", type=float, default=1.0, help="a factor of all limits of time of one program")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the data to make: only for a try")


class TimedRun:
    """One run of record.py or measure.py: it has a limit of time, and writes its results to a folder."""

    turn_s = 16.0  # what one run of a program takes at most

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.deadline = time.monotonic() + args.seconds_in_all - (time.time() - args.started)
        self.port = FIRST_PORT
        args.out.mkdir(parents=True, exist_ok=True)

    def left(self) -> float:
        """Seconds until the limit."""
        return self.deadline - time.monotonic()

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.time() - float(self.args.started)

    def say(self, text: str) -> None:
        print(f"[{self.seconds():5.0f} s] {text}", flush=True)

    def write_results(self, name: str, results: dict[str, Any]) -> None:
        """Writes a file of the folder whole or not at all, with the seconds that the run has taken so far."""
        part = self.args.out / f"{name}.part"
        part.write_text(json.dumps({"seconds": round(self.seconds(), 1), **results}, indent=1) + "\n")
        part.replace(self.args.out / name)


def chosen(args: argparse.Namespace) -> list[Program]:
    known = run.programs(args.programs)
    names = [name for name in args.only.split(",") if name] or list(known)
    if wrong := [name for name in names if name not in known]:
        sys.exit(f"no program is called {', '.join(wrong)}; there are {', '.join(known)}")
    return [known[name] for name in names]


def groups(programs: list[Program], together: int) -> list[list[Program]]:
    """What starts together. Neighbours of the list are kept apart, as their needs are alike. Those that are slow to
    start come with the last group but one: they may go on while the last one starts."""
    slow = [program for program in programs if program["name"] in SLOW_S]
    others = [program for program in programs if program["name"] not in SLOW_S]
    count = -(-len(others) // together)
    found = [others[first::count] for first in range(count)]
    if together == 1 or not found:
        return found + [slow[first : first + together] for first in range(0, len(slow), together)]
    found[max(0, count - 2)] += slow
    return found


def start_seconds(programs: list[Program], args: argparse.Namespace) -> float:
    return args.patience * max((SLOW_S.get(program["name"], START_S) for program in programs), default=START_S)


def make_sets(programs: list[Program], args: argparse.Namespace) -> dict[str, str]:
    """Makes the data of the programs in parallel. The sets that were not made, and why."""
    names = {link["set"] for program in programs for link in program.get("data", [])}
    waiting = sorted(names, key=lambda name: (LONG.index(name) if name in LONG else len(LONG), name))
    waiting = [name for name in waiting if not (args.scratch / "data" / name / ".made").exists()]
    folder = args.scratch / "data"
    folder.mkdir(parents=True, exist_ok=True)
    making: dict[str, tuple[subprocess.Popen[str], float]] = {}
    failed = {}
    until = time.monotonic() + args.data_seconds
    while waiting or making:
        while waiting and len(making) < args.at_once:
            name = waiting.pop(0)
            command = [sys.executable, str(HERE / "make_data.py"), "--scale", str(args.scale), str(folder), name]
            log = (folder / f"{name}.log").open("w")
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True)
            log.close()
            making[name] = process, time.monotonic()
        for name, (process, begun) in list(making.items()):
            code = process.poll()
            if code is None and time.monotonic() < until:
                continue
            del making[name]
            took = time.monotonic() - begun
            print(f"data {name}: {took:.1f} s{'' if code == 0 else f', failed: {code}'}", flush=True)
            if code is None:
                process.kill()
                process.wait()
                failed[name] = f"the data {name} was not made within {args.data_seconds:.0f} s"
            elif code:
                said = (folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
                failed[name] = f"the data {name} was not made: {said[-1] if said else code}"
            if code != 0:
                shutil.rmtree(folder / name, ignore_errors=True)
        if time.monotonic() >= until:
            failed |= {name: f"the data {name} was not begun" for name in waiting}
            waiting = []
        time.sleep(0.05)
    return failed


def hook_folder(scratch: Path) -> Path:
    """A folder that holds field_steps.py alone, for PYTHONPATH: programs have modules that are called as ours."""
    folder = scratch.resolve() / "hook"
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "field_steps.py"
    text = (HERE / "field_steps.py").read_text(encoding="utf-8")
    if not module.exists() or module.read_text(encoding="utf-8") != text:  # a program that starts may be reading it
        module.write_text(text, encoding="utf-8")
    return folder


def copy(program: Program, variant: str, args: argparse.Namespace, patch: str = "") -> Copy:
    """Makes a scratch copy. Raises CannotChange, or SystemExit as run.py does."""
    make_data.SCALE = args.scale
    named = program | {"name": f"{program['name']}-{variant}"}
    scratch = args.scratch.resolve()
    run.prepare(named, args.repositories, scratch, args.cpu)
    root = scratch / named["name"]
    if patch:
        hook.apply(patch, root)
    step = program["step"]
    original = (args.repositories / program["checkout"] / step["file"]).read_text(encoding="utf-8")
    line = hook.insert(root / step["file"], original, step["line"])
    settings, words = run.call(program, args.cpu)
    settings |= LAUNCHED.get(program["name"], {})
    return Copy(program, named["name"], root, run.folder_of(program, root), words, settings, line)


def remove(one: Copy) -> None:
    """What the program has written goes, too. The data stays: it is linked."""
    shutil.rmtree(one.root, ignore_errors=True)


def environment(one: Copy, args: argparse.Namespace, port: int) -> dict[str, str]:
    """Returns the variables of a program's process. They forbid the network, show one GPU and name its own folder."""
    temporary = args.scratch.resolve() / "tmp" / one.program["name"]  # its variants share what they have compiled
    temporary.mkdir(parents=True, exist_ok=True)
    paths = [str(hook_folder(args.scratch)), os.environ.get("PYTHONPATH", "")]
    settings = {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(temporary),
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HOME": str(temporary / "huggingface"),
        "WANDB_MODE": "offline",
        "YOLOv5_AUTOINSTALL": "false",
        "YOLO_CONFIG_DIR": str(temporary),
        "MPLBACKEND": "Agg",
        "TORCHINDUCTOR_COMPILE_THREADS": "4",  # one program among many that start at the same time
        "FIELD_READY_STEPS": str(READY_STEPS.get(one.program["name"], 4)),
        "FIELD_LATE_S": str(8 * args.patience),
        "MASTER_PORT": str(port),
        "PET_MASTER_PORT": str(port),  # of torch.distributed.run
    }
    if args.cpu:
        settings |= FEW_STEPS
    return os.environ | settings | one.settings
