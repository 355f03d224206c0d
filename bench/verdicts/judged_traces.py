"""The judged traces, and where their files are."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass(frozen=True)
class Judged:
    name: str
    family: str
    half: str
    source: dict[str, str]
    verdict: str
    also_right: list[str]
    worthless: list[str]
    confidence: str

    def path_in(self, folder: str) -> str:
        """Where its file is. It has a folder of its own, because several files have the same name."""
        return os.path.join(folder, *self.name.split("/"), os.path.basename(self.source["path"]))

    def outcome_of(self, said: str) -> str:
        if said == self.verdict:
            return "right"
        if said in self.also_right:
            return "also"
        return "worthless" if said in self.worthless else "wrong"


def load(half: str, path: str = os.path.join(HERE, "judged.json")) -> list[Judged]:
    """Those of one half; nothing of the other half leaves this function."""
    members = [field.name for field in dataclasses.fields(Judged)]
    with open(path) as file:
        traces = json.load(file)
    return [Judged(**{name: trace[name] for name in members}) for trace in traces if trace["half"] == half]


def why_missing(trace: Judged, folder: str) -> str | None:
    """None: the file is there, and it is the one that was judged."""
    try:
        with open(trace.path_in(folder), "rb") as file:
            content = file.read()
    except OSError:
        return "not there"
    return None if _is_judged(trace, content) else "another file: its SHA-256 differs"


def take_from_clone(trace: Judged, clones: str, folder: str) -> str | None:
    """Copies its file out of a clone, `clones`/OWNER/NAME. Returns why that failed, else None."""
    clone = os.path.join(clones, *trace.source["repository"].split("/"))
    shown = f"{trace.source['commit']}:{trace.source['path']}"
    done = subprocess.run(["git", "-C", clone, "show", shown], capture_output=True, check=False)
    if done.returncode != 0:
        return (done.stderr.decode(errors="replace").strip() or "git failed").splitlines()[-1]
    if not _is_judged(trace, done.stdout):
        return "its SHA-256 differs"
    path = trace.path_in(folder)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(done.stdout)
    return None


def _is_judged(trace: Judged, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == trace.source["sha256"]
