"""Nothing asks pip for `turnpike`, which on PyPI is another project: the package is turnpike-gpu."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "python", "scripts", "src", "tests", "bench", "examples", ".github")
SUFFIXES = {"", ".md", ".py", ".cpp", ".h", ".toml", ".yml", ".txt", ".sh"}
# `turnpike` as what pip installs: with extras, with a version, or by itself after "pip install".
ASKED_FOR = re.compile(r"(?<![\w/.-])turnpike(?:\[[a-z,]+\]|[=<>~]=)|pip3? install (?:-\S+ )*[\"'`]?turnpike(?![\w/-])")


def texts():
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in SUFFIXES)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in SUFFIXES and path != pathlib.Path(__file__):
                yield path


def test_no_text_asks_pip_for_another_project():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts()
        for match in ASKED_FOR.finditer(path.read_text(errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["pip install 'turnpike[fleet]'", "turnpike==0.1.0", "python -m pip install -U turnpike", "`turnpike[ray]`"]
)
def test_such_a_text_is_found(text):
    assert ASKED_FOR.search(text)


@pytest.mark.parametrize(
    "text", ["pip install 'turnpike-gpu[fleet]'", "turnpike-gpu==0.1.0", "pip uninstall turnpike", "turnpike [pid]"]
)
def test_other_texts_are_not(text):
    assert not ASKED_FOR.search(text)
