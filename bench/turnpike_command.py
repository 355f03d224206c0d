"""Calls the executable `turnpike`: that of the installed package, or the one that the variable TURNPIKE names."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any


def executable() -> str:
    if named := os.environ.get("TURNPIKE"):
        return named
    from turnpike import _native

    return _native.EXECUTABLE


def turnpike_text(*arguments: str, environment: dict[str, str] | None = None) -> str:
    """What the command prints. Raises when it fails, with the last line of what it said."""
    command = [executable(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    if done.returncode != 0:
        said = (done.stderr.strip() or "(it said nothing)").splitlines()[-1]
        raise RuntimeError(f"turnpike {arguments[0]}: exit code {done.returncode}: {said}")
    return done.stdout


def turnpike_json(*arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    return json.loads(turnpike_text(*arguments, environment=environment))
