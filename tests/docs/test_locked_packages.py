"""What pip installs here is pinned with all that comes with it, by hashes, and two lists never disagree."""

import collections
import itertools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = sorted([*(ROOT / "scripts").glob("requirements-*.in"), ROOT / "cmake/cuda_headers.in"])
REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[\w+\])?==([\w.]+)", re.MULTILINE)


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path):
    """The versions of each package in a list. For several versions of Python there may be several."""
    versions = collections.defaultdict(set)
    for name, version in REQUIREMENT.findall(path.read_text()):
        versions[normal(name)].add(version)
    return versions


def named(path):
    return path.stem


def test_there_are_lists():
    assert len(LISTS) > 8


@pytest.mark.parametrize("path", LISTS, ids=named)
def test_each_package_that_we_chose_is_in_the_list_that_is_installed(path):
    chosen, locked = pinned(path), pinned(path.with_suffix(".txt"))
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == sum(map(len, chosen.values())) > 0, "each line pins one version"
    assert {name: found for name, found in chosen.items() if not found <= locked[name]} == {}, "run scripts/lock"


@pytest.mark.parametrize("path", LISTS, ids=named)
def test_each_package_has_its_hashes(path):
    lines = path.with_suffix(".txt").read_text().replace("\\\n", " ").splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    assert packages
    assert [line for line in packages if "==" not in line or "--hash=sha256:" not in line] == []


def test_lists_that_one_environment_gets_agree():
    lists = {path.stem: pinned(path.with_suffix(".txt")) for path in LISTS if "wheels" not in path.stem}
    for (one, left), (other, right) in itertools.combinations(lists.items(), 2):
        for name in left.keys() & right.keys():
            assert left[name] <= right[name] or right[name] <= left[name], f"{name} in {one} and {other}"


@pytest.mark.parametrize(
    ("path", "ways"),
    [
        ("scripts/bootstrap", 2),  # by pip and by uv
        ("scripts/wheel_build/package.py", 1),
        ("scripts/wheel_build/toolchain.py", 1),
        ("cmake/cuda_headers.cmake", 1),
    ],
)
def test_whoever_installs_a_list_refuses_files_without_hashes(path, ways):
    assert (ROOT / path).read_text().count("--require-hashes") == ways
