"""Reads turnpike.toml: from Python 3.11 on by the standard library."""

from __future__ import annotations

import os
import sys
from typing import Any

from turnpike._core import Error


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a file.

    Raises:
        turnpike.Error: Python 3.10 without tomli.
        OSError: The file cannot be read.
        ValueError: It is no TOML, with the line.
    """
    with open(path, "rb") as file:
        if sys.version_info >= (3, 11):
            import tomllib

            return tomllib.load(file)
        try:
            import tomli
        except ModuleNotFoundError:
            raise Error("Python 3.10 reads no TOML: install tomli, or give the rules as arguments.") from None
        content: dict[str, Any] = tomli.load(file)
        return content
