"""The file of limits: what each test transferred when somebody last approved it."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

import pytest

from pytest_turnpike._limits import quoted

_HEAD = """# What each test may transfer at most. `pytest --turnpike-update` writes this; review its changes like code.
"""


def read(path: pathlib.Path) -> dict[str, dict[str, int]]:
    """The figures by the ids of tests; none where there is no file.

    Raises:
        pytest.UsageError: The file is not what `write` writes.
    """
    if not path.exists():
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib  # pytest brings it there, from 7.0 on
        except ModuleNotFoundError:
            raise pytest.UsageError(f"{path}: Python 3.10 reads no TOML: install tomli") from None
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"{path}: {error}") from error
    for name, figures in values.items():
        if not isinstance(figures, dict) or not all(type(figure) is int for figure in figures.values()):
            raise pytest.UsageError(
                f"{path}: '{name}' is no table of numbers. Correct it, or remove the file and pass --turnpike-update"
            )
    return values


def write(path: pathlib.Path, figures: dict[str, dict[str, int]]) -> None:
    """Replaces the file, in the order of the tests' names."""
    text = _HEAD
    for name, values in sorted(figures.items()):
        text += f"\n[{quoted(name)}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)
