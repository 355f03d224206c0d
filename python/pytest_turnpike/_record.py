"""Records a piece of a test, and has `turnpike check` compare it with its limits."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any

from pytest_turnpike._limits import MEASURED, NO_COUNT, NO_TIME_NS

# Of most file systems, less ".tpk" and a number that keeps repetitions apart.
_NAME_BYTES = 255 - 16


class Recording:
    """One recording in its own folder. If nothing was recorded, `reason` says why; otherwise it is None."""

    def __init__(self, saved: pathlib.Path | None) -> None:
        self.reason: str | None = None
        self._folder = None if saved else pathlib.Path(tempfile.mkdtemp(prefix="turnpike-pytest-"))
        # The folders that this recording makes. close() removes those that are still empty.
        self._made = [one for one in saved.parents if not one.exists()] if saved else []
        if saved:
            saved.parent.mkdir(parents=True, exist_ok=True)
        self.run = saved or (self._folder or pathlib.Path()) / "test.tpk"
        import turnpike

        try:
            turnpike.start(self.run, detail="transfers", required=True)
        except turnpike.Error as error:  # there is no GPU, another tool holds it, or the process is recorded already
            self.reason = str(error)
            self.close()
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        import turnpike

        if self.reason is None and turnpike.is_recording():
            turnpike.stop()

    def close(self) -> None:
        """Deletes what nobody asked to keep."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        for folder in self._made:
            with contextlib.suppress(OSError):  # one that holds something stays
                folder.rmdir()


@dataclasses.dataclass
class Checked:
    """What `turnpike check` says: every figure that it measured, and the limits that are exceeded or unknown."""

    figures: dict[str, int]
    breaches: list[dict[str, Any]]
    annotations: list[str]


def check(run: pathlib.Path, budget: str) -> Checked:
    """Measures a run, and compares it with a budget.

    Raises:
        RuntimeError: The run cannot be read, or the budget is wrong.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(budget)
        file.flush()
        result = json.loads(_turnpike_check(run, file.name, "--json"))
        figures = {}
        for limit in result["limits"]:
            name = limit["limit"].removeprefix("per_run.")
            if name in MEASURED and limit["measured"] is not None:
                figures["blocked_ns" if name == "blocked" else name] = round(limit["measured"])
        breaches = [limit for limit in result["limits"] if limit["outcome"] != "ok" and _is_limited(limit)]
        annotations = []
        if breaches and os.environ.get("GITHUB_ACTIONS") == "true":
            text = _turnpike_check(run, file.name, "--github")
            annotations = [line for line in text.splitlines() if line.startswith("::error")]
    return Checked(figures, breaches, annotations)


def _is_limited(limit: dict[str, Any]) -> bool:
    """Not so what is measured for the summary alone, nor that a test that was recorded need not use a GPU."""
    return limit["limit"] != "recording" and limit["allowed"] not in (NO_COUNT, NO_TIME_NS)


def _turnpike_check(run: pathlib.Path, budget: str, option: str) -> str:
    from turnpike import _native

    command = [_native.EXECUTABLE, "check", os.fspath(run), "--budget", budget, option]
    result = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if result.returncode not in (0, 1):
        raise RuntimeError(result.stderr.decode(errors="replace").strip())
    return result.stdout.decode(errors="replace")


def saved_run(folder: str, nodeid: str) -> pathlib.Path:
    """A new run in a folder, named after a test: its id as far as file names can hold it, and a hash of a longer one.

    A test that is repeated gets a number behind its name.
    """
    name = re.sub(r"[^\w.\-\[\]]+", "-", nodeid)
    if len(name.encode()) > _NAME_BYTES:
        digest = hashlib.sha256(nodeid.encode(errors="surrogateescape")).hexdigest()[:16]
        name = name.encode()[: _NAME_BYTES - 17].decode(errors="ignore") + "-" + digest
    parent = pathlib.Path(folder)
    run = parent / f"{name}.tpk"
    number = 1
    while run.exists():
        number += 1
        run = parent / f"{name}-{number}.tpk"
    return run
