"""A file that appears whole under its name, or not at all, as those of the command (src/cli/output_file.h)."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
from collections.abc import Iterable, Iterator

from turnpike import _core

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_MOST_LINKS = 40  # as the kernel follows


def check_is_no_input(output: Path, runs: Iterable[Path]) -> None:
    """Raises turnpike.Error if the file or folder is one of the runs, lies inside one, or is a file of one."""
    target = pathlib.Path(os.fsdecode(output))
    places = [target.resolve(), *target.resolve().parents]
    for run in (pathlib.Path(os.fsdecode(one)) for one in runs):
        is_inside = run.is_dir() and any(one.exists() and one.samefile(run) for one in places)
        files = (run, *(run.iterdir() if run.is_dir() else ()))
        if is_inside or (target.exists() and any(file.exists() and target.samefile(file) for file in files)):
            raise _core.Error(
                f"cannot write {target}: it is, or would be, a part of the run {run}. Name another place."
            )


@contextlib.contextmanager
def whole(path: Path) -> Iterator[str]:
    """The name of the file to write, which gets the name `path` at the end of the block if nothing was raised.

    It has the mode of a file that it replaces, and links are followed to that file. What exists and is no regular file
    (a pipe, /dev/null) is written to as it is.

    Raises:
        OSError: The file cannot be written; or a link of another user leads to it, in a folder that all may write in.
    """
    target = _resolved(pathlib.Path(os.fsdecode(path)))
    is_there = target.exists()
    if is_there and not target.is_file():
        yield str(target)
        return
    unfinished = f"{target}.{os.getpid()}.part"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_there else 0o666)
    try:
        try:
            if is_there:
                os.fchmod(descriptor, target.stat().st_mode & 0o777)
        finally:
            os.close(descriptor)
        yield unfinished
        os.replace(unfinished, target)
    finally:  # Ctrl-C, too, leaves nothing behind
        pathlib.Path(unfinished).unlink(missing_ok=True)


def _resolved(path: pathlib.Path) -> pathlib.Path:
    """The file that links lead to: renaming onto a link would replace the link."""
    target = path
    for _ in range(_MOST_LINKS):
        if not target.is_symlink():
            return target
        folder, owner = target.parent.stat(), target.lstat().st_uid
        if folder.st_mode & stat.S_IWOTH and owner not in (os.geteuid(), folder.st_uid):
            raise PermissionError(
                f"cannot write {path}: {target} is a link of another user, in a folder that everybody may write in. "
                "Name another file."
            )
        target = target.parent / target.readlink()
    return path
