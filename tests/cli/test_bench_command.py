"""`turnpike bench` on a machine where there is nothing to measure."""

import ctypes
import subprocess

import pytest


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture
def bench(turnpike, environment, tmp_path):
    def run(*arguments):
        return subprocess.run(
            [turnpike, "bench", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )

    return run


def test_without_a_name_lists_the_names(bench):
    result = bench()
    assert result.returncode == 0
    assert "turnpike bench link" in result.stdout


def test_an_unknown_name_is_wrong_usage(bench):
    assert bench("warp-drive").returncode == 2


@pytest.mark.parametrize("arguments", [["--device", "first"], ["--no-such-option"]])
def test_wrong_options_are_wrong_usage(bench, arguments):
    assert bench("link", *arguments).returncode == 2


@pytest.mark.skipif(has_driver(), reason="this machine has a CUDA driver")
@pytest.mark.parametrize("arguments", [[], ["--json"], ["--device", "0"]])
def test_without_a_driver_says_so_and_measures_nothing(bench, tmp_path, arguments):
    result = bench("link", *arguments)
    assert result.returncode == 4
    assert result.stdout == ""
    assert result.stderr.startswith("turnpike bench link: no CUDA driver on this machine")
    assert not (tmp_path / "cache").exists()


def test_the_help_names_the_exit_codes(bench):
    result = bench("link", "--help")
    assert result.returncode == 0
    assert "--device" in result.stdout
    assert "Exit code" in result.stdout
