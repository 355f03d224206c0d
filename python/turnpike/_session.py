"""Starts and stops a recording in this process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import types
import warnings
from typing import Literal

from turnpike import _core, _native, _unrecorded
from turnpike._move import label

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Detail = Literal["full", "transfers"]


@dataclasses.dataclass(eq=False)
class _Started:
    """A `start()` of this process that has not been stopped."""

    run: str
    process: int
    is_recorded: bool


_started: _Started | None = None


def start(
    path: Path,
    *,
    detail: Detail = "full",
    stacks: bool = True,
    source: bool = True,
    verify_content: bool = False,
    max_size: str = "16 GB",
    required: bool = False,
) -> None:
    """Starts to record this process into the run `path`. `stop()` ends the recording.

    Works at any time, even after CUDA has been initialised, and any number of times in one process. The program's
    results do not change.

    Where nothing can be recorded, the program goes on, with a warning, and `report(path)` says that nothing was
    recorded, and why: without an NVIDIA driver or libcupti, if another tool holds CUPTI, if `path` cannot be written,
    or while the file of the last recording is still being written. Under the command `turnpike record`, its recording
    goes on, and has what this one would have.

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
        required: Whether to raise where nothing can be recorded.

    Raises:
        turnpike.Error: An earlier `start()` has not been stopped; or nothing can be recorded and it is `required`.
        ValueError: `detail` is neither "full" nor "transfers", or `max_size` is no size.

    Warns:
        RuntimeWarning: Nothing is recorded, and why.
    """
    _start(
        path, required, 3, detail=detail, stacks=stacks, source=source, verify_content=verify_content, max_size=max_size
    )


def _start(path: Path, required: bool, stacklevel: int, **options: str | bool) -> None:
    global _started
    run = os.path.abspath(os.fsdecode(path))
    open_one = _started if _started is not None and _started.process == os.getpid() else None
    if open_one is not None and (not open_one.is_recorded or is_recording()):
        raise _core.Error(f"this process is being recorded already, to {open_one.run}: call turnpike.stop() before.")
    try:
        _core.start(_native.RECORD_LIBRARY, os.path.abspath(os.fspath(path)), **options)
    except _core.Error as error:
        if required:
            raise
        reason = str(error).rstrip(".")
        _unrecorded.note(run, reason)
        _started = _Started(run, os.getpid(), is_recorded=False)
        text = f"Turnpike records nothing into {run}: {reason}. The program goes on; required=True raises instead."
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)
        return
    _unrecorded.forget(run)
    _started = _Started(run, os.getpid(), is_recorded=True)
    label.listen(True)


def stop() -> pathlib.Path:
    """Ends the recording: waits for the GPU work in flight, collects its records and closes the file.

    CUPTI stays attached to the process, which slows calls of CUDA down a little. For full speed afterwards, record in
    a process of its own.

    Returns:
        The file that this process wrote. Where nothing was written, the run, which may not be there; its report says
        that nothing was recorded, and why.

    Warns:
        RuntimeWarning: The file is not there, because it could not be written or was removed.

    Raises:
        turnpike.Error: Nothing is being recorded in this process. Or the file is still being written after ten seconds,
            because its disk or the GPU hangs: nothing more is recorded, and calling `stop()` again waits again.
    """
    global _started
    started = _started if _started is not None and _started.process == os.getpid() else None
    _started = None
    if started is not None and not started.is_recorded:
        return pathlib.Path(started.run)
    label.listen(False)
    file = _core.stop(_native.RECORD_LIBRARY)
    if file.exists():
        return file
    reason = f"{file} is not there: it could not be written, or was removed"
    _unrecorded.note(str(file.parent), reason)
    warnings.warn(f"Turnpike has recorded nothing: {reason}. Free room on the disk.", RuntimeWarning, stacklevel=2)
    return file.parent


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


class record(contextlib.ContextDecorator):  # noqa: N801 (used as a function is)
    """Records a `with` block into the run `path`.

        with turnpike.record("run.tpk") as run:
            train()
        print(turnpike.report(run))

    An exception in the block passes through, and the recording up to it is kept. To end the recording early, call
    `stop()` inside the block. Where nothing can be recorded, the block runs, as with `start()`. `as` names `path`.

    Args:
        path: As for `start()`.
        detail: As for `start()`.
        stacks: As for `start()`.
        source: As for `start()`.
        verify_content: As for `start()`.
        max_size: As for `start()`.
        required: As for `start()`.

    Raises:
        turnpike.Error: As for `start()`, when the block begins.
        ValueError: As for `start()`, when the block begins.

    Warns:
        RuntimeWarning: As for `start()`; or it was no `with` block, so that nothing was recorded.
    """

    def __init__(
        self,
        path: Path,
        *,
        detail: Detail = "full",
        stacks: bool = True,
        source: bool = True,
        verify_content: bool = False,
        max_size: str = "16 GB",
        required: bool = False,
    ) -> None:
        self._is_used = False
        self._path = path
        self._required = required
        self._options = {
            "detail": detail,
            "stacks": stacks,
            "source": source,
            "verify_content": verify_content,
            "max_size": max_size,
        }
        self._started: _Started | None = None

    def __enter__(self) -> pathlib.Path:
        self._is_used = True
        _start(self._path, self._required, 3, **self._options)
        self._started = _started
        return pathlib.Path(os.fsdecode(self._path))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        # Not what another `start()` began after a `stop()` in the block; nor in a child that was forked there.
        started = self._started
        if started is None or _started is not started or started.process != os.getpid():
            return
        if not started.is_recorded or is_recording():
            stop()

    def _recreate_cm(self) -> record:
        self._is_used = True
        return record(self._path, required=self._required, **self._options)  # type: ignore[arg-type]

    def __del__(self) -> None:
        if not getattr(self, "_is_used", True):
            text = "turnpike.record(...) recorded nothing: write `with turnpike.record(...):`, or call turnpike.start"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
