"""From what the user names to files of Parquet: roll-ups as they are, runs through `turnpike rollup`."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from turnpike import _native

_TRACES = (".tpt", ".json", ".gz", ".sqlite")
# A task that the system killed, e.g. for memory, is tried once more.
_TRIES = 2


@dataclass
class Inputs:
    """Files of the runs, in the order in which they were named."""

    rollups: list[pathlib.Path] = field(default_factory=list)
    traces: list[tuple[str, pathlib.Path]] = field(default_factory=list)  # with the name of the run
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Mapped:
    """What became of one trace."""

    rollups: list[pathlib.Path]
    error: str | None


def executable() -> str:
    """The native program, or the one that the variable TURNPIKE names."""
    return os.environ.get("TURNPIKE") or _native.EXECUTABLE


def find(paths: Iterable[str]) -> Inputs:
    """Sorts what was named. A folder is a run (*.tpt), a folder of roll-ups (*.parquet), or one that holds such."""
    inputs = Inputs()
    for name in paths:
        path = pathlib.Path(name)
        if path.is_dir():
            before = len(inputs.rollups) + len(inputs.traces)
            for file in sorted(path.rglob("*")):
                _take(file, file.parent, inputs)
            if before == len(inputs.rollups) + len(inputs.traces):
                inputs.unreadable.append(f"{name} holds no run and no roll-up.")
        elif path.is_file():
            if not _take(path, path, inputs):
                inputs.unreadable.append(f"{name} is no run and no roll-up.")
        else:
            inputs.unreadable.append(f"{name} is not there.")
    return inputs


def _take(file: pathlib.Path, run: pathlib.Path, inputs: Inputs) -> bool:
    if file.suffix == ".parquet":
        inputs.rollups.append(file)
    elif file.suffix == ".tpt" or (file is run and file.suffix in _TRACES):
        inputs.traces.append((run.stem, file))
    else:
        return False
    return True


def roll_up(trace: pathlib.Path, folder: pathlib.Path) -> Mapped:
    """Rolls up one trace into a folder of its own, in a process of its own. Reads no more than this file."""
    said = ""
    for _ in range(_TRIES):
        done = subprocess.run(
            [executable(), "rollup", str(trace), "-o", str(folder)], stdin=subprocess.DEVNULL, capture_output=True
        )
        written = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
        if done.returncode == 0:
            return Mapped(written, None)
        said = done.stderr.decode(errors="replace").strip().removeprefix("turnpike rollup: ")
        if done.returncode > 0:
            return Mapped(written, said)
    return Mapped([], f"{trace}: its roll-up was killed by signal {-done.returncode}, twice.")


def roll_up_all(
    traces: Sequence[tuple[str, pathlib.Path]], folder: pathlib.Path, workers: int, progress: Callable[[int], None]
) -> list[Mapped]:
    """In the order of the traces. The threads only wait for their processes.

    progress: called with how many are done, each time that one is.
    """
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        tasks = [pool.submit(roll_up, trace, folder / f"{number}") for number, (_, trace) in enumerate(traces)]
        for done, _ in enumerate(concurrent.futures.as_completed(tasks), start=1):
            progress(done)
        return [task.result() for task in tasks]
