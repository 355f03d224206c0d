"""Running commands: quietly, into a log, and with an end that says what went wrong."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "wheels"
LOG = WORK / "log.txt"


class BuildError(Exception):
    """What went wrong, in words for whoever called scripts/wheels."""


def say(text):
    print(f"wheels: {text}", flush=True)


def run(*command, cwd=ROOT, environment=None, failure):
    """Runs a command with its output in the log. Raises `failure` with the log's end if the command fails."""
    command = [str(part) for part in command]
    with LOG.open("a") as log:
        log.write(f"$ {' '.join(command)}\n")
        log.flush()
        start = log.tell()
        result = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    if result.returncode != 0:
        with LOG.open(errors="replace") as log:
            log.seek(start)
            end = log.read().splitlines()[-30:]
        raise BuildError("\n".join([*end, f"{failure} (log: {LOG})"]))
