"""The pairs of bench/whatif, as far as they can be tried without a GPU."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the pairs need PyTorch")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "whatif"))

import pair as pairs  # noqa: E402
import run as whatif  # noqa: E402


@pytest.fixture(scope="module")
def dry_run():
    """The lines of a dry run, by pair. In a process of its own: it replaces parts of torch.cuda."""
    command = [sys.executable, "-m", "bench.whatif", "--dry-run", "--device", "cpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return {line.split()[0]: line for line in done.stdout.splitlines()}, done


@pytest.mark.parametrize("name", pairs.names())
def test_both_programs_of_a_pair_compute_the_same(dry_run, name):
    lines, done = dry_run
    assert name in lines, done.stderr
    assert lines[name].split()[1] == "ok", lines[name]


@pytest.mark.parametrize("name", pairs.names())
def test_every_edit_stands_at_a_line_of_the_program_as_it_is(name):
    pair = pairs.load(name)
    source = pathlib.Path(pair.path).read_text().splitlines()
    first = source.index("def as_is(device):") + 1
    last = source.index("def fixed(device):")
    for edit in pair.edits():
        if "@" in edit:
            assert first < int(edit.rsplit(":", 1)[1]) <= last, edit


def test_a_marker_that_is_not_there_is_an_error(tmp_path):
    path = tmp_path / "some.py"
    path.write_text("x = 1  # <- edit\n")
    module = type("Module", (), {"EDITS": ["remove_sync@{other}"]})
    with pytest.raises(KeyError):
        pairs.Pair("some", str(path), module).edits()


def test_results_that_differ_are_found():
    import torch

    pair = pairs.load("reupload")
    with pytest.raises(AssertionError):
        pair.compare(torch.tensor(1.0), torch.tensor(1.01))
    with pytest.raises(AssertionError):
        pair.compare(torch.tensor(float("nan")), torch.tensor(float("nan")))


MEASURED = {"as_is": [990.0, 1000.0, 1010.0], "fixed": [495.0, 500.0, 505.0], "steps_per_block": 20}


def row(recorded_ns, predicted_ns):
    prediction = {"measured_step_ns": recorded_ns, "predicted_step_ns": predicted_ns}
    measured = whatif.Measured(**MEASURED)
    return whatif.result_row(pairs.load("reupload"), measured, prediction=prediction if recorded_ns else None)


def test_a_prediction_is_compared_with_what_the_fixed_program_took():
    found = row(1_000_000, 520_000)
    assert (found["value"], found["predicted_fixed"], found["baseline_value"], found["error_pct"]) == (520, 520, 500, 4)
    assert found["met"] and found["sign_right"]


def test_a_prediction_that_is_off_by_more_than_the_target_is_missed():
    assert row(1_000_000, 524_000)["met"]
    assert not row(1_000_000, 526_000)["met"]
    assert not row(1_000_000, 474_000)["met"]


def test_a_loss_predicted_where_there_was_a_gain_has_the_wrong_sign():
    found = row(1_000_000, 1_010_000)
    assert found["sign_right"] is False and found["met"] is False


def test_a_pair_without_a_prediction_is_missed():
    found = row(None, None)
    assert found["value"] is None and found["met"] is False and found["baseline_value"] == 500
