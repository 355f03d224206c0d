"""The bar that reading shows on a terminal when it takes over a second, and takes away again."""

import json
import os
import re
import subprocess

import pytest
from terminal import Terminal

BAR = re.compile(rb"\rreading \[(#*) *\] +(\d+) %")

# A clock by which every look takes half a second: reading takes over one, however fast the machine is.
SLOW_CLOCK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static long looks;
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_MONOTONIC) now->tv_sec += ++looks / 2;
  return result;
}
"""


@pytest.fixture(scope="module")
def slow_clock(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(SLOW_CLOCK)
    library = folder / "libclock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "clock.c"], check=True)
    return str(library)


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    """A trace of torch.profiler with one upload and 12 MB of annotations: a dozen windows of the reader."""
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    copy = {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": "Memcpy HtoD (Pinned -> Device)",
        "pid": 0,
        "tid": 7,
        "ts": 3,
        "dur": 2,
    }
    call["args"] = {"correlation": 1}
    copy["args"] = {"correlation": 1, "device": 0, "stream": 7, "bytes": 64}
    filler = {"ph": "X", "cat": "overhead", "name": "x" * 1000, "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {}}
    events = ",".join([json.dumps(call), json.dumps(copy), *[json.dumps(filler)] * 12_000])
    path = tmp_path_factory.mktemp("trace") / "long.json"
    path.write_text('{"schemaVersion": 1, "traceEvents": [' + events + "]}")
    return path


@pytest.fixture
def reading(turnpike, environment, long_trace, tmp_path):
    """`turnpike report` with standard error on a terminal, at its end."""

    def run(**variables):
        # The report goes to a file: what the terminal shows is the bar alone.
        words = ["/bin/sh", "-c", 'exec "$@" > report.txt', "sh", str(turnpike), "report", str(long_trace)]
        terminal = Terminal(words, tmp_path, {**environment, "TERM": "xterm-256color", **variables})
        assert os.waitstatus_to_exitcode(terminal.end()) == 0, terminal.output
        assert ": up " in (tmp_path / "report.txt").read_text()
        return terminal

    return run


def test_a_bar_is_drawn_when_reading_takes_over_a_second(reading, slow_clock):
    terminal = reading(LD_PRELOAD=slow_clock)
    drawn = [(len(bar), int(percent)) for bar, percent in BAR.findall(terminal.output)]
    assert len(drawn) > 3, terminal.output
    assert drawn == sorted(drawn)
    assert all(abs(length - percent * 30 / 100) < 1 for length, percent in drawn)


def test_the_bar_is_gone_at_the_end(reading, slow_clock):
    terminal = reading(LD_PRELOAD=slow_clock)
    assert BAR.search(terminal.output)
    assert terminal.screen.text() == ""
    assert (terminal.screen.row, terminal.screen.column) == (0, 0)


def test_quick_reading_shows_nothing(reading, slow_clock):
    assert reading().output == b""


def test_nothing_is_shown_where_no_terminal_is(turnpike, environment, long_trace, slow_clock):
    variables = {**environment, "TERM": "xterm-256color", "LD_PRELOAD": slow_clock}
    done = subprocess.run([turnpike, "report", long_trace], capture_output=True, env=variables, check=True)
    assert done.stderr == b""
