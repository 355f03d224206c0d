"""Starts and stops a recording in this process."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator
from typing import Literal

from turnpike import _core, _native
from turnpike._move import label

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Detail = Literal["full", "transfers"]


def start(path: Path, *, detail: Detail = "full", stacks: bool = True, verify_content: bool = False) -> None:
    """Starts recording this process into the run directory `path`; :func:`stop` ends it.

    path: the run, a directory, by convention NAME.tpk. It is made when it is missing; each process and each recording
        adds a file of its own.
    detail: "full" records kernels too, which the overlap and idle times need; "transfers" does not, and costs least.
    stacks: whether to note the line and the operator of each call. Without them the report knows no sites.
    verify_content: whether to compare every byte of what crosses, not samples of it, to find data that crosses twice.
        The program then waits 0.2 ms for each MiB copied.

    Works at any time, also when CUDA is already up, and any number of times in a process. The program's results do not
    change.

    Raises turnpike.Error when this process is already being recorded, when there is no NVIDIA driver or no libcupti,
    when another tool holds CUPTI, or when `path` cannot be written; ValueError for an unknown `detail`.
    """
    _core.start(_native.RECORD_LIBRARY, os.path.abspath(os.fspath(path)), detail, stacks, verify_content)
    label.listen(True)


def stop() -> pathlib.Path:
    """Ends the recording: waits for the device work under way, collects its records and closes the file.

    Returns the file that this process wrote. Raises turnpike.Error when nothing is being recorded in this process.
    """
    label.listen(False)
    return _core.stop(_native.RECORD_LIBRARY)


def is_recording() -> bool:
    """Whether this process is being recorded, by :func:`start` or by the command `turnpike record`."""
    return _core.is_recording(_native.RECORD_LIBRARY)


@contextlib.contextmanager
def record(
    path: Path, *, detail: Detail = "full", stacks: bool = True, verify_content: bool = False
) -> Iterator[pathlib.Path]:
    """Records what runs inside the `with` block into the run directory `path`, which is also its value.

        with turnpike.record("run.tpk") as run:
            train()
        print(turnpike.report(run))

    Parameters and errors are those of :func:`start`. An exception of the block passes through, and what was recorded
    until then is kept. Calling :func:`stop` inside the block ends the recording early.
    """
    start(path, detail=detail, stacks=stacks, verify_content=verify_content)
    try:
        yield pathlib.Path(os.fsdecode(path))
    finally:
        if is_recording():
            stop()
