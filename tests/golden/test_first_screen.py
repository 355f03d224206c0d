"""The first screen of `turnpike report` of every recording that is committed: it fits, adds up and can be acted on."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
RECORDINGS = sorted(
    path
    for folder in ("tests/golden", "examples")
    for pattern in ("*.tpk", "*.json.gz")
    for path in (ROOT / folder).rglob(pattern)
)
PART = re.compile(r"  \S.*?  +(<?\d+) %(?:  |$)")


def name_of(path):
    return f"{path.parent.name}/{path.name}"


def printed(path, *options):
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    command = [pathlib.Path(build).resolve() / "src/cli/turnpike", "report", path, *options]
    # The links of this machine are no part of the recordings.
    environment = os.environ | {"XDG_CACHE_HOME": "/nonexistent"}
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=True).stdout


def section(lines, heading):
    start = next(index for index, line in enumerate(lines) if line.startswith(heading))
    end = next((index for index, line in enumerate(lines) if index > start and not line), len(lines))
    return lines[start + 1 : end]


@pytest.fixture(params=RECORDINGS, ids=name_of)
def recording(request):
    return request.param


def test_there_are_recordings():
    assert len(RECORDINGS) >= 60


def test_the_first_screen_fits(recording):
    lines = printed(recording).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)
    assert sum(line.startswith("VERDICT  ") for line in lines) == 1


def test_the_parts_of_a_step_add_up_to_it_and_the_largest_comes_first(recording):
    lines = printed(recording).splitlines()
    if not any(line.startswith("WHERE ") for line in lines):
        pytest.skip("the recording has no kernels")
    shares = [PART.match(line)[1] for line in section(lines, "WHERE ")]
    numbers = [0.5 if share == "<1" else float(share) for share in shares]
    assert numbers == sorted(numbers, reverse=True)
    # Each is rounded to one per cent, or to half of one.
    assert abs(sum(numbers) - 100) <= 0.5 * len(numbers)


def test_each_finding_has_a_saving_a_place_and_something_to_write(recording):
    lines = printed(recording).splitlines()
    if not any(line.startswith("WHAT TO DO") for line in lines):
        pytest.skip("the recording has no kernels")
    found = section(lines, "WHAT TO DO")
    heads = [index for index, line in enumerate(found) if re.match(r"  ?\d+  ", line)]
    for index in heads:
        assert re.match(r"  ?\d+  (saves \S.*? \(.*%.*\)|gain unknown|results may be wrong)  +\S", found[index])
        action = found[index + 1]
        assert action.startswith("      ") and not action.endswith("..."), "the advice begins with too long a sentence"


def test_nothing_is_lost_behind_the_options(recording):
    whole = printed(recording, "--all")
    for line in section(printed(recording).splitlines(), "WHERE ") if "\nWHERE " in whole else []:
        assert line in whole
    for option, heading in (("--transfers", "TRANSFERS\n"), ("--syncs", "SYNCHRONISATIONS BY LINE\n"),
                            ("--losses", "LOSSES\n"), ("--explain", "EXPLANATIONS\n")):  # fmt: skip
        assert f"\n{heading}" in whole
        assert f"\n{heading}" in printed(recording, option)
