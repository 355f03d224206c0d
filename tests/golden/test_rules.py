"""Each rule fires in its positive recording, at the line that its program marks, and is silent in its near miss: all
that it may say there is a note, of severity info, which claims nothing.

tests/golden/rules holds RULE-positive.tpk, RULE-near.tpk and expected.json, as make_rule_traces.py writes them.
"""

import json
import os
import pathlib
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).parent / "rules"
EXPECTED = FOLDER / "expected.json"


def rules():
    if not EXPECTED.exists():
        reason = f"there are no recordings in {FOLDER.name}: make_rule_traces.py makes them on a GPU"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return sorted(json.loads(EXPECTED.read_text()))


@pytest.fixture(scope="module")
def findings():
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    executable = pathlib.Path(build).resolve() / "src/cli/turnpike"

    def report(trace, rule):
        done = subprocess.run([executable, "report", trace, "--json"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        values = json.loads(done.stdout)
        assert not values["losses"], "a recording with losses proves nothing"
        return [finding for finding in values["findings"] if finding["rule"] == rule]

    return report


@pytest.mark.parametrize("rule", rules())
def test_the_rule_fires_at_its_line(findings, rule):
    found = findings(FOLDER / f"{rule}-positive.tpk", rule)
    assert found
    place = json.loads(EXPECTED.read_text())[rule]["positive"]
    if place["line"] is not None:
        sites = [finding["site"] for finding in found]
        assert any(site.endswith(f"{place['file']}:{place['line']}") for site in sites), sites


@pytest.mark.parametrize("rule", rules())
def test_the_rule_is_silent_in_the_near_miss(findings, rule):
    assert [found for found in findings(FOLDER / f"{rule}-near.tpk", rule) if found["severity"] != "info"] == []
