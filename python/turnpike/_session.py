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


def start(
    path: Path,
    *,
    detail: Detail = "full",
    stacks: bool = True,
    source: bool = True,
    verify_content: bool = False,
    max_size: str = "16 GB",
) -> None:
    """Starts to record this process into the run `path`. `stop()` ends the recording.

    Works at any time, even after CUDA has been initialised, and any number of times in one process. The program's
    results do not change.

    Args:
        path: The run: a directory, by convention NAME.tpk, which is created if it is missing. Each process and each
            recording adds its own file.
        detail: "full" records kernels as well, which overlap and idle times need. "transfers" leaves them out and
            costs least.
        stacks: Whether to note the line and the operator of each call. Without them the report has no sites.
        source: Whether to keep the program's own lines of Python around those that `stacks` notes, for the report to
            show. Whoever gets the recording has these lines.
        verify_content: Whether to compare every byte that is transferred, not only samples, to find data that is
            transferred twice. The program then waits 0.2 ms for each MiB copied.
        max_size: How large the file may become, from "1 MB" on. Recording stops there, and the program continues;
            `stop()` still ends it.

    Raises:
        turnpike.Error: This process is being recorded already, the last recording is still being written, there is no
            NVIDIA driver or no libcupti, another tool holds CUPTI, or `path` cannot be written.
        ValueError: `detail` is neither "full" nor "transfers", or `max_size` is no size.
    """
    run = os.path.abspath(os.fspath(path))
    _core.start(
        _native.RECORD_LIBRARY, run, detail=detail, stacks=stacks, source=source, verify_content=verify_content,
        max_size=max_size,
    )  # fmt: skip
    label.listen(True)


def stop() -> pathlib.Path:
    """Ends the recording: waits for the GPU work in flight, collects its records and closes the file.

    CUPTI stays attached to the process, which slows calls of CUDA down a little. For full speed afterwards, record in
    a process of its own.

    Returns:
        The file that this process wrote.

    Raises:
        turnpike.Error: Nothing is being recorded in this process. Or the file is still being written after ten seconds,
            because its disk or the GPU hangs: nothing more is recorded, and calling `stop()` again waits again.
    """
    label.listen(False)
    return _core.stop(_native.RECORD_LIBRARY)


def keep(reason: str = "") -> None:
    """Keeps what the command `turnpike record --last` has of this run now, as a run of its own beside it.

    The recording goes on. The kept run, NAME-1.tpk for NAME.tpk and so on, holds every process of the run; its report
    says `reason`. Returns at once: the run is complete a moment later.

    Args:
        reason: What happened, in a few words.

    Raises:
        turnpike.Error: Nothing is being recorded in this process, or not with `--last`.
    """
    _core.keep(_native.RECORD_LIBRARY, reason)


def is_recording() -> bool:
    """Says whether this process is being recorded, by `start()` or by the command `turnpike record`."""
    return _core.is_recording(_native.RECORD_LIBRARY)


@contextlib.contextmanager
def record(
    path: Path,
    *,
    detail: Detail = "full",
    stacks: bool = True,
    source: bool = True,
    verify_content: bool = False,
    max_size: str = "16 GB",
) -> Iterator[pathlib.Path]:
    """Records a `with` block into the run `path`.

        with turnpike.record("run.tpk") as run:
            train()
        print(turnpike.report(run))

    An exception in the block passes through, and the recording up to it is kept. To end the recording early, call
    `stop()` inside the block.

    Args:
        path: As for `start()`.
        detail: As for `start()`.
        stacks: As for `start()`.
        source: As for `start()`.
        verify_content: As for `start()`.
        max_size: As for `start()`.

    Yields:
        `path`.

    Raises:
        turnpike.Error: As for `start()`.
        ValueError: As for `start()`.
    """
    start(path, detail=detail, stacks=stacks, source=source, verify_content=verify_content, max_size=max_size)
    try:
        yield pathlib.Path(os.fsdecode(path))
    finally:
        if is_recording():
            stop()
