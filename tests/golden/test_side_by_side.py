"""Recordings of one program by Turnpike and by torch.profiler give the same report: again, without a GPU.

tests/golden/side_by_side holds PROGRAM.tpk and PROGRAM.json.gz, as tests/gpu/side_by_side.py --keep leaves them.
"""

import importlib.util
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "side_by_side"
RULES = HERE / "rules"
# Without the folder there is nothing to test yet; an empty one, or half a pair in it, fails.
PROGRAMS = ("transfers", "kernels") if FOLDER.exists() else ()


def load_comparison():
    spec = importlib.util.spec_from_file_location("side_by_side", HERE.parent / "gpu" / "side_by_side.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


side_by_side = load_comparison()


@pytest.fixture(scope="module")
def turnpike():
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    return str(pathlib.Path(build).resolve() / "src/cli/turnpike")


if PROGRAMS:

    @pytest.mark.parametrize("program", PROGRAMS)
    def test_both_recordings_give_the_same_report(turnpike, program):
        ours, theirs = FOLDER / f"{program}.tpk", FOLDER / f"{program}.json.gz"
        rows, wrong = side_by_side.compare_paths(turnpike, str(ours), str(theirs))
        assert wrong == []
        compared = {row.figure for row in rows if row.is_same}
        assert compared >= {"h2d count", "h2d bytes", "steps", "syncs", "bound by"}


def test_a_recording_is_the_same_as_itself(turnpike):
    path = str(RULES / "blocking_copy-positive.tpk")
    rows, wrong = side_by_side.compare_paths(turnpike, path, path)
    assert wrong == []
    assert {row.figure: row.is_same for row in rows}["h2d bytes"] is True


def test_recordings_of_different_programs_are_told_apart(turnpike):
    paths = [str(RULES / f"many_small_copies-{kind}.tpk") for kind in ("positive", "near")]
    rows, wrong = side_by_side.compare_paths(turnpike, *paths)
    assert {row.figure for row in rows if row.is_same is False} >= {"h2d count", "h2d bytes"}
    assert wrong


def test_what_one_source_does_not_know_is_not_compared():
    totals = {one: {"count": 0} for one in side_by_side.DIRECTIONS}
    report = {
        "totals": totals,
        "steps": None,
        "syncs": {"host_blocked_ns": None},
        "sync_sites": [],
        "verdict": {"bound_by": ""},
    }
    assert all(row.is_same is None for row in side_by_side.compare(report, report))
