#!/usr/bin/env python3
"""Runs the snippets of the pages about frameworks and launchers, unchanged.

    tests/gpu/pages/run_pages.py [--page NAME] [--require-gpu]

Each block of Python and each command is a process of its own, in a folder of its own. What a page takes for granted (a
model, a loader, train.py) stands before it: given_to_pages.py. Prints a line for each, ok, failed or skipped with the
reason, and exits with 1 if one failed. Without a GPU a block that records is skipped; with --require-gpu that is a
failure.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import given_to_pages as given

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = ("lightning.md", "hugging_face.md", "clusters.md")
SECONDS = 240
# What a program says where CUDA is missing.
NO_GPU = re.compile(r"there is no CUDA driver|no CUDA GPUs are available|nothing was recorded|nothing is guarded")


class Snippet(NamedTuple):
    """A piece of a page that can run."""

    page: str
    line: int
    kind: str  # "python" or "shell"
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


class Outcome(NamedTuple):
    result: str  # "ok", "failed" or "skipped"
    reason: str


def snippets_of(page: str, text: str) -> list[Snippet]:
    """The blocks of Python, and the commands that record, in blocks, tables and sentences."""
    found = []
    language = None
    block: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if language == "python":
                found.append(Snippet(page, number - len(block), "python", "\n".join(block) + "\n"))
            language, block = (line[3:].strip() or "none", []) if language is None else (None, [])
        elif language is not None:
            block.append(line)
        else:
            found += [Snippet(page, number, "shell", command) for command in commands_in(line)]
    return found


def commands_in(line: str) -> list[str]:
    """What a line of prose or of a table tells to run: `turnpike record ...`, or a container's `command: [...]`."""
    commands = []
    for code in re.findall(r"`([^`]+)`", line):
        container = re.fullmatch(r"command: \[(.*)\]", code)
        if container:
            # As Kubernetes fills in variables.
            words = [re.sub(r"\$\((\w+)\)", r"${\1}", word.strip()) for word in container[1].split(",")]
            commands.append(" ".join(f'"{word}"' for word in words))
        elif " -- " in code and (code.startswith("turnpike record ") or "'turnpike record " in code):
            commands.append(code)
    return [command for command in commands if "turnpike" in command]


def run(snippet: Snippet, folder: pathlib.Path) -> Outcome:
    """Runs one in a new folder."""
    (folder / "train.py").write_text(given.TRAIN)
    missing = [name for name in given.needed_by(snippet.text) if shutil.which(name) is None]
    if missing:
        return Outcome("skipped", f"{missing[0]} is not installed")
    if "srun " in snippet.text and subprocess.run(["sinfo"], capture_output=True).returncode != 0:
        return Outcome("skipped", "no controller of Slurm answers")
    if snippet.kind == "python":
        before, after = given.around(snippet.page, snippet.text)
        (folder / "snippet.py").write_text(f"{before}\n{snippet.text}\n{after}")
        command = [sys.executable, "snippet.py"]
    else:
        command = ["bash", "-c", snippet.text]
    # `python` is the interpreter that runs this, as in an activated environment.
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1", "POD_NAME": "pod-0", "PYTHONUNBUFFERED": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return Outcome("failed", f"it ran for {SECONDS} s")
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return (
            Outcome("ok", "without a GPU: it ran, and recorded nothing") if NO_GPU.search(said) else Outcome("ok", "")
        )
    package = re.search(r"No module named '(\w+)", done.stderr)
    if package and package[1] in given.OPTIONAL:
        return Outcome("skipped", f"{package[1]} is not installed")
    if NO_GPU.search(said):
        return Outcome("skipped", "there is no GPU")
    return Outcome("failed", f"exit {done.returncode}\n{said[-2000:]}")


class Shared:
    """The folder /shared of the pages, where it can be had. What was not there is removed in the end."""

    PATH = pathlib.Path("/shared")

    def __enter__(self) -> bool:
        self._is_ours = not self.PATH.exists()
        if self._is_ours:
            try:
                self.PATH.mkdir()
            except OSError:
                self._is_ours = False
        return self._is_ours

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            shutil.rmtree(self.PATH)


def outcome_of(snippet: Snippet) -> Outcome:
    """Runs one, with /shared where it names that."""
    with tempfile.TemporaryDirectory() as folder:
        if "/shared" not in snippet.text:
            return run(snippet, pathlib.Path(folder))
        with Shared() as has_shared:
            if not has_shared:
                return Outcome("skipped", "/shared exists, or cannot be made")
            return run(snippet, pathlib.Path(folder))


def all_snippets() -> list[Snippet]:
    return [one for page in PAGES for one in snippets_of(page, (ROOT / "docs/howto" / page).read_text())]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", choices=PAGES, help="this page alone")
    parser.add_argument("--require-gpu", action="store_true", help="what a missing GPU skips, fails")
    arguments = parser.parse_args()
    failed = 0
    for snippet in all_snippets():
        if arguments.page not in (None, snippet.page):
            continue
        result, reason = outcome_of(snippet)
        if arguments.require_gpu and reason.endswith("there is no GPU"):
            result = "failed"
        failed += result == "failed"
        shown = snippet.text.strip().splitlines()[-1].strip()[:70]
        print(f"{result:8} {snippet.name:22} {shown}{': ' + reason if reason else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
