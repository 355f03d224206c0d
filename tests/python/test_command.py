"""The command `turnpike` as the wheel installs it: Python starts it, and nothing of Python's shall be left in it."""

import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "turnpike", "record", "--quiet", "--"]


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


def signal_lines(status):
    return [line for line in status.splitlines() if line.startswith("Sig")]


def test_a_recorded_program_has_the_signals_of_the_plain_one(tmp_path):
    program = ("cat", "/proc/self/status")
    assert signal_lines(run(*COMMAND, *program, cwd=tmp_path).stdout) == signal_lines(run(*program).stdout)


@pytest.mark.parametrize("name", ["PIPE", "XFSZ", "INT", "TERM", "HUP", "USR1", "SEGV"])
def test_it_dies_by_each_signal_as_the_plain_one(tmp_path, name):
    program = ("sh", "-c", f"ulimit -c 0; kill -{name} $$")
    assert run(*COMMAND, *program, cwd=tmp_path).returncode == run(*program).returncode < 0


def test_a_reader_that_leaves_ends_the_program_in_silence(tmp_path):
    result = run("sh", "-c", '"$@" | head -1', "sh", *COMMAND, "yes", cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("y\n", "")


def test_the_experiments_of_bench_run_in_this_interpreter(tmp_path):
    bench = [sys.executable, "-m", "turnpike", "bench"]
    helped = run(*bench, "to", "--help", cwd=tmp_path)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert helped.stdout.startswith("usage: turnpike bench") and "--plot" in helped.stdout
    refused = run(*bench, "to", "--no-such-option", cwd=tmp_path)
    assert refused.returncode == 2 and "--no-such-option" in refused.stderr
    # The native command's: Python would not know that it measures the link.
    assert "link" in run(*bench, "--help", cwd=tmp_path).stdout
