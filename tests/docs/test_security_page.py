"""docs/security.md: each thing that an attacker cannot do has tests, and they exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/security.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|")) for line in PAGE.splitlines() if line.startswith("|")
]
CLAIMS = [row for row in ROWS if row[1] not in ("tests", "---")]


def named_tests(cell):
    """The path of the file and the name of each test that a cell names."""
    return [
        (path, name)
        for path, names in re.findall(r"`(tests/[^`]+)`: ((?:`[^`]+`(?:, )?)+)", cell)
        for name in re.findall(r"`([^`]+)`", names)
    ]


def missing(tests):
    def is_there(path, name):
        is_cpp = path.endswith(".cpp")
        begins = rf"^TEST(?:_F)?\({name.replace('.', ', ')}\)" if is_cpp else rf"^def {name}\("
        return (ROOT / path).exists() and re.search(begins, (ROOT / path).read_text(), re.M)

    return [f"{path}: {name}" for path, name in tests if not is_there(path, name)]


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim[0][:60] for claim in CLAIMS])
def test_each_line_has_tests_or_says_what_is_possible(claim):
    said, cell = claim
    if "**can**" in said and not cell:
        return
    tests = named_tests(cell)
    assert tests, f"no test: {said}"
    assert missing(tests) == []


def test_the_check_finds_what_it_looks_for():
    assert len(CLAIMS) > 20
    assert named_tests("`tests/a.py`: `one`, `two`; `tests/b.py`: `three`") == [
        ("tests/a.py", "one"),
        ("tests/a.py", "two"),
        ("tests/b.py", "three"),
    ]
    assert missing([("tests/docs/test_security_page.py", "test_no_such")]) != []
    assert missing([("tests/docs/test_security_page.py", "test_the_check_finds_what_it_looks_for")]) == []
