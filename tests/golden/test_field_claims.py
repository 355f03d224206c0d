"""The recordings of bench/field again, without a GPU: does a report still claim what was measured on one?

tests/golden/field holds NAME.tpk, a recorded program; NAME.json, what was measured of it and of its fixes; and
turnpike/link.json, the rates of the machine's link. `python -m bench.field` makes them (the folder `recordings`).
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = pathlib.Path(__file__).parent / "field"
FACTS = sorted(FOLDER.glob("*.json"))
sys.path[:0] = [str(ROOT / "bench/field"), str(ROOT / "bench")]
pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")

import harness  # noqa: E402


def recordings():
    if not FACTS:
        reason = "there are no recordings in field: python -m bench.field on a GPU makes them"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=path.stem) for path in FACTS]


@pytest.fixture(params=recordings())
def judged(request):
    """What was measured, and the rows of today's report of the recording."""
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    known = json.loads(request.param.read_text())
    executable = pathlib.Path(build).resolve() / "src/cli/turnpike"
    command = [executable, "report", request.param.with_suffix(".tpk"), "--json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(FOLDER)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return known, harness.rows_of(harness.judged_again(known, json.loads(done.stdout)))


def test_what_came_true_still_does(judged):
    known, rows = judged
    true = {(row["fix"], row["rule"], row["site"]) for row in rows if row["met"]}
    assert {tuple(claim) for claim in known["came_true"]} <= true


def test_no_fix_of_a_finding_makes_the_program_slower(judged):
    _, rows = judged
    wrong = [(row["case"], row["rule"], row["value"], row["spread"]) for row in rows if row["sign_right"] is False]
    assert wrong == []
