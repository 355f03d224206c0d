"""Rolls up recordings on the machines of a Ray cluster, each in a task of its own.

All machines reach a recording by the same name, and have Turnpike at the same place. A task sends its roll-ups back:
some kilobytes.
"""

from __future__ import annotations

import logging
import os
import pathlib
import socket
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from turnpike._fleet.rollups import Mapped, roll_up

# A task whose machine or process is gone is tried once more.
_RETRIES = 1


class MissingRay(Exception):
    """Ray is not installed, or its cluster cannot be reached."""


def roll_up_there(trace: str) -> tuple[list[tuple[str, bytes]], str | None]:
    """Runs on any machine of the cluster. Returns names and contents of the roll-ups, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="turnpike-fleet-") as folder:
        mapped = roll_up(pathlib.Path(trace), pathlib.Path(folder))
        return [(file.name, file.read_bytes()) for file in mapped.rollups], mapped.error


def roll_up_all(
    traces: Sequence[tuple[str, pathlib.Path]],
    folder: pathlib.Path,
    address: str | None,
    progress: Callable[[int], None],
) -> list[Mapped]:
    """In the order of the traces.

    address: of the cluster; None: what RAY_ADDRESS names, else one that runs on this machine, else a new one.
    progress: called with how many are done, each time that one is.

    Raises:
        MissingRay: Ray is not installed, or does not reach its cluster.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingRay("this needs Ray: pip install 'turnpike-gpu[ray]'") from error
    _refuse_unreachable(address or os.environ.get("RAY_ADDRESS"))
    is_ours = not ray.is_initialized()
    try:
        if is_ours:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise MissingRay(f"Ray cannot be used: {str(error).splitlines()[0]}") from error
    try:
        return _mapped(ray, traces, folder, progress)
    finally:
        if is_ours:
            ray.shutdown()


def _refuse_unreachable(address: str | None) -> None:
    """Ray itself tries for minutes to reach a cluster that is not there."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise MissingRay(f"Ray cannot be used: nothing answers at {address} ({error.strerror or error})") from error


def _mapped(
    ray: Any, traces: Sequence[tuple[str, pathlib.Path]], folder: pathlib.Path, progress: Callable[[int], None]
) -> list[Mapped]:
    task = ray.remote(max_retries=_RETRIES, num_cpus=1)(roll_up_there)
    tasks = {task.remote(str(trace.resolve())): number for number, (_, trace) in enumerate(traces)}
    results: dict[int, Mapped] = {}
    waiting = list(tasks)
    while waiting:
        done, waiting = ray.wait(waiting, num_returns=1)
        for one in done:
            number = tasks[one]
            results[number] = _received(ray, one, traces[number][1], folder / f"{number}")
            progress(len(results))
    return [results[number] for number in range(len(traces))]


def _received(ray: Any, task: Any, trace: pathlib.Path, folder: pathlib.Path) -> Mapped:
    try:
        files, error = ray.get(task)
    except ray.exceptions.RayError as failure:
        return Mapped([], f"{trace}: Ray's task failed: {str(failure).strip().splitlines()[-1]}")
    folder.mkdir(parents=True)
    written = []
    for name, content in files:
        written.append(folder / pathlib.PurePath(name).name)
        written[-1].write_bytes(content)
    return Mapped(written, error)
