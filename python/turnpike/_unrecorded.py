"""The runs that this process was to record and could not, with the reasons: their reports say so."""

from __future__ import annotations

import os
import pathlib

# A file's name, inode, size and time of change in ns. A file's time comes from a clock that lags behind time.time() by
# some milliseconds. So files are compared with what they were, never with a time of day.
_Files = frozenset[tuple[str, int, int, int]]

_reasons: dict[str, tuple[str, _Files]] = {}


def absolute(run: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Where the run lies; as given where the working directory is gone, so that nothing can lie there."""
    try:
        return os.path.abspath(os.fsdecode(run))
    except FileNotFoundError:
        return os.fsdecode(run)


def note(run: str, reason: str) -> None:
    """Nothing is recorded into `run`, an absolute path."""
    _reasons[run] = reason, _files_of(pathlib.Path(run))


def forget(run: str) -> None:
    """The run is recorded after all."""
    _reasons.pop(run, None)


def reason_of(run: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str | None:
    """Why nothing was recorded into the run. None: another process has written into it since, or nobody tried here.

    What lies there from before is not what the caller means.
    """
    path = pathlib.Path(absolute(run))
    reason, before = _reasons.get(str(path), (None, frozenset()))
    if reason is None or _files_of(path) - before:
        return None
    return reason


def _files_of(run: pathlib.Path) -> _Files:
    stats = ((file.name, file.stat()) for file in run.glob("*.tpt"))
    return frozenset((name, about.st_ino, about.st_size, about.st_mtime_ns) for name, about in stats)
