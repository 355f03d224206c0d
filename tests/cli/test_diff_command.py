"""`turnpike diff` as a command: what it prints and how it ends."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import (  # noqa: E402
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    PAGEABLE,
    PINNED,
    PYTHON_FRAME,
    TraceFile,
)

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mnist-h100.tpk"


@pytest.fixture
def run(turnpike, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "XDG"))}

    def run(*arguments, **more):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            **{
                "cwd": tmp_path,
                "env": {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache")},
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "timeout": 60,
                **more,
            },
        )

    return run


def write_run(directory, *, line, copies=20, step_ns=1_000_000, memory=PAGEABLE, blocked_ns=400_000, losses=None):
    """A run whose steps are the uploads of one line."""
    directory.mkdir()
    trace = TraceFile(pid=4242)
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full", "host": "box"}
    trace.losses = losses or {}
    trace.device("NVIDIA H100 80GB HBM3")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", line))
    for number in range(1, copies + 1):
        start = number * step_ns
        trace.call("cudaMemcpyAsync", COPY_CALL, number, start, start + blocked_ns, stack=stack, size_bytes=100_000)
        trace.memcpy(HOST_TO_DEVICE, memory, DEVICE, 100_000, number, start + 5_000, start + 25_000)
    trace.write(directory / "4242.tpt")
    return directory


@pytest.fixture
def before(tmp_path):
    return write_run(tmp_path / "before.tpk", line=30)


@pytest.fixture
def after(tmp_path):
    return write_run(tmp_path / "after.tpk", line=34, copies=50, step_ns=700_000, memory=PINNED, blocked_ns=6_000)


def test_a_fix_is_told_in_a_sentence(run, before, after):
    result = run("diff", before, after)
    assert (result.returncode, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert "A step takes 700 us instead of 1.00 ms (-30 %)." in text
    assert "upload at train.py:34 no longer blocks the CPU" in text
    assert "train.py:30 -> :34" in text
    assert "pageable > device -> pinned > device" in text
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_is_json(run, before, after):
    comparison = json.loads(run("diff", before, after, "--json").stdout)
    assert comparison["schema"] == 1
    assert comparison["unit"] == "step"
    assert comparison["sites"][0]["has_moved"] is True
    assert comparison["before"]["steps"]["count"] == 20
    assert comparison["after"]["steps"]["count"] == 50
    assert comparison["doubts"] == []


def test_runs_without_steps_are_compared_as_wholes(run, before, tmp_path):
    short = write_run(tmp_path / "short.tpk", line=30, copies=2)
    result = run("diff", before, short)
    assert result.returncode == 0
    assert "The run after has no steps that could be found" in " ".join(result.stdout.split())
    assert "TRANSFERS OF THE RUN" in result.stdout


def test_losses_make_it_doubtful(run, before, tmp_path):
    lossy = write_run(tmp_path / "lossy.tpk", line=30, losses={1: 7})
    assert "The run after is incomplete (7 x cupti_dropped)" in " ".join(run("diff", before, lossy).stdout.split())


def test_a_run_beside_itself_is_the_same(run):
    result = run("diff", EXAMPLE, EXAMPLE)
    assert result.returncode == 0
    assert "No transfer changed. Still launch-bound." in " ".join(result.stdout.split())
    assert "Both are the same run." in result.stdout


def test_a_copy_of_the_example_compares_without_doubt(run, tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "copy.tpk")
    assert json.loads(run("diff", EXAMPLE, "copy.tpk", "--json").stdout)["doubts"] == []


def test_help_teaches(run):
    text = run("diff", "--help").stdout
    assert "turnpike diff before.tpk after.tpk" in text
    assert "turnpike record -o before.tpk" in text


@pytest.mark.parametrize("arguments", [[], ["one.tpk"], ["a", "b", "--tpo", "3"]])
def test_wrong_usage_ends_with_2(run, arguments):
    assert run("diff", *arguments).returncode == 2


def test_a_run_that_cannot_be_read_ends_with_3(run, before):
    for pair in ((before, "missing.tpk"), ("missing.tpk", before)):
        result = run("diff", *pair)
        assert (result.returncode, result.stdout) == (3, "")
        assert result.stderr.startswith("turnpike diff: ")
        assert "missing.tpk" in result.stderr


def test_a_full_disk_is_told(run, before, after):
    with open("/dev/full", "w") as full:
        assert run("diff", before, after, stdout=full).returncode == 4
