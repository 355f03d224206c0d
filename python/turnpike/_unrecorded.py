"""The runs that this process was to record and could not, with the reasons: their reports say so."""

from __future__ import annotations

import os
import pathlib
import time

_reasons: dict[str, tuple[str, float]] = {}


def absolute(run: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Where the run lies; as given where the working directory is gone, so that nothing can lie there."""
    try:
        return os.path.abspath(os.fsdecode(run))
    except FileNotFoundError:
        return os.fsdecode(run)


def note(run: str, reason: str) -> None:
    """Nothing is recorded into `run`, an absolute path."""
    _reasons[run] = reason, time.time()


def forget(run: str) -> None:
    """The run is recorded after all."""
    _reasons.pop(run, None)


def reason_of(run: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str | None:
    """Why nothing was recorded into the run. None: another process has written into it since, or nobody tried here.

    What lies there from before is not what the caller means.
    """
    path = pathlib.Path(absolute(run))
    reason, since = _reasons.get(str(path), (None, 0.0))
    if reason is None or any(file.stat().st_mtime > since for file in path.glob("*.tpt")):
        return None
    return reason
