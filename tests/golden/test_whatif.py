"""The predictions of bench/whatif again, from its recordings: without a GPU, against what was measured on one.

tests/golden/whatif holds PAIR.tpk, the recording of the program as it is, and PAIR.json, what was measured beside it.
"""

import json
import os
import pathlib
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).parent / "whatif"
FACTS = sorted(FOLDER.rglob("*.json"))
# The error of the best published replay.
TOLERANCE = 0.033
# Its download was predicted at the rate of the link, and the program that waits for none took 98 us longer. It reads
# what came down: 48 to 60 us of that are the CPU's caches (docs/whatif.md), whose rate was not measured beside it.
WIDER = {"d2h_outputs": 0.05}
SELF_TEST_TOLERANCE = 0.02


@pytest.fixture(scope="module")
def whatif(tmp_path_factory):
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    executable = pathlib.Path(build).resolve() / "src/cli/turnpike"

    cache = tmp_path_factory.mktemp("cache")
    (cache / "turnpike").mkdir()

    def run(trace, edits, facts):
        options = [word for edit in edits for word in ("--edit", edit)]
        if "link" in facts:
            kept = {"schema": 1, "links": [facts["link"]]}
            (cache / "turnpike" / "link.json").write_text(json.dumps(kept))
        else:  # recorded when uploads alone were measured
            options += ["--link-gbps", str(facts["link_gbps"])]
        command = [executable, "whatif", trace, *options, "--json"]
        environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def pairs():
    if not FACTS:
        reason = f"there are no recordings in {FOLDER.name}: python -m bench.whatif --traces on a GPU makes them"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=str(path.relative_to(FOLDER).with_suffix(""))) for path in FACTS]


@pytest.mark.parametrize("path", pairs())
def test_the_predicted_step_is_the_measured_one(whatif, path):
    facts = json.loads(path.read_text())
    prediction = whatif(path.with_suffix(".tpk"), facts["edits"], facts)
    predicted_ns = prediction["predicted_step_ns"]
    measured_ns = facts["measured_fixed_ns"]
    is_faster = predicted_ns < prediction["measured_step_ns"]
    assert is_faster == (measured_ns < facts["measured_as_is_ns"]), "the sign is wrong"
    error = predicted_ns / measured_ns - 1
    tolerance = WIDER.get(path.stem, TOLERANCE)
    assert abs(error) <= tolerance, f"{predicted_ns / 1e3:.1f} us predicted, {measured_ns / 1e3:.1f} us measured"


@pytest.mark.parametrize("path", pairs())
def test_the_unchanged_graph_takes_as_long_as_what_was_recorded(whatif, path):
    facts = json.loads(path.read_text())
    answer = whatif(path.with_suffix(".tpk"), [], facts)
    for model in ("retimed_step_ns", "typical_step_ns"):
        error = answer[model] / answer["measured_step_ns"] - 1
        assert abs(error) <= SELF_TEST_TOLERANCE, model
