"""Runs `turnpike` on committed recordings, as a reader of the pages would: no GPU, the same output every time."""

import contextlib
import dataclasses
import fcntl
import os
import pathlib
import pty
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 100
# What the pages call the recordings and the programs.
FILES = {
    "before.tpk": "examples/train-before-h100.tpk",
    "after.tpk": "examples/train-after-h100.tpk",
    "train.tpk": "tests/golden/whatif/item_each_step.tpk",
    "mnist.tpk": "examples/mnist-h100.tpk",
    "lightning.tpk": "tests/golden/field/lightning_fit.tpk",
    "trainer.tpk": "tests/golden/field/hf_trainer.tpk",
    "train_before.py": "examples/train_before.py",
    "train_after.py": "examples/train_after.py",
    "budget.toml": "examples/turnpike.toml",
}
STYLE = re.compile(r"\x1b\[\d*m")
HEADING = re.compile(r"[A-Z][A-Z ]+[A-Z]\b")


@dataclasses.dataclass(frozen=True)
class Output:
    text: str
    exit_code: int


def executable():
    """The `turnpike` of the build folder that TURNPIKE_BUILD names, or else the one in .venv."""
    build = os.environ.get("TURNPIKE_BUILD")
    return pathlib.Path(build).resolve() / "src/cli/turnpike" if build else ROOT / ".venv/bin/turnpike"


@contextlib.contextmanager
def folder():
    """A folder that holds the recordings under the names that the pages use."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        for new, old in FILES.items():
            source = ROOT / old
            (shutil.copytree if source.is_dir() else shutil.copy)(source, path / new)
        yield path


def environment(folder):
    # Without what this machine knows of its link, and with no settings of the caller.
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "GITHUB", "NO_COLOR"))
    }
    return {**kept, "XDG_CACHE_HOME": str(folder / ".cache"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


def run(command, folder):
    """The output of a command line that starts with `turnpike`, as a pipe receives it."""
    words = shlex.split(command)
    if words[0] != "turnpike":
        raise ValueError(f"only commands of turnpike can be shown, not: {command}")
    result = subprocess.run(
        [str(executable()), *words[1:]], cwd=folder, env=environment(folder), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Output(result.stdout, result.returncode)


def run_on_terminal(command, folder):
    """The same as a terminal of 100 columns receives it, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [str(executable()), *shlex.split(command)[1:]], cwd=folder, env=environment(folder), stdin=theirs,
        stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    data = b""
    with contextlib.suppress(OSError):  # EIO: the program has closed its side
        while part := os.read(ours, 65536):
            data += part
    os.close(ours)
    return Output(data.decode().replace("\r\n", "\n"), process.wait())


def sections(text, names):
    """The named sections of an output, with "..." for what is left out between them. No names: all of it."""
    if not names:
        return text.rstrip("\n").split("\n")
    found, wanted, left_out = [], dict.fromkeys(names, False), False
    is_wanted = False
    for line in text.rstrip("\n").split("\n"):
        if heading := HEADING.match(STYLE.sub("", line)):
            is_wanted = heading[0] in wanted
            if is_wanted:
                wanted[heading[0]] = True
                if found and left_out:
                    found += ["...", ""]
                left_out = False
        if is_wanted:
            found.append(line)
        left_out |= not is_wanted
    missing = [name for name, is_there in wanted.items() if not is_there]
    if missing:
        raise ValueError(f"the output has no section {', '.join(missing)}")
    while not found[-1]:
        found.pop()
    return [*found, *(["", "..."] if left_out else [])]
