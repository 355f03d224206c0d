"""The pairs of bench/whatif, as far as they can be tried without a GPU."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the pairs need PyTorch")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "whatif"))

import pair as pairs  # noqa: E402


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
