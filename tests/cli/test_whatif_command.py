"""`turnpike whatif` as a command: it takes the same runs as `turnpike report`, and says what it did with them."""

import gzip
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import (  # noqa: E402
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    LAUNCH_CALL,
    PAGEABLE,
    PYTHON_FRAME,
    TraceFile,
)

COPIES = 6
MS = 1_000_000
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"


@pytest.fixture
def whatif(turnpike, tmp_path):
    def whatif(*arguments):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NO_COLOR": "1"}
        command = [str(turnpike), "whatif", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    return whatif


def copies():
    """Start of each call, which takes 800 us of every ms, and of each copy, which takes 700 of them."""
    return [(number, number * MS, number * MS + 50_000) for number in range(1, COPIES + 1)]


def write_own(path):
    path.mkdir()
    trace = TraceFile()
    trace.metadata = {"detail": "full"}
    trace.device("GPU")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", 23))
    for number, call_ns, copy_ns in copies():
        trace.call("cudaMemcpy", COPY_CALL, number, call_ns, call_ns + 800_000, stack=stack, size_bytes=1 << 20)
        trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 1 << 20, number, copy_ns, copy_ns + 700_000)
    trace.write(path / "1.tpt")
    return path


def write_torch_profiler(path):
    events = []
    for number, call_ns, copy_ns in copies():
        host = {"ph": "X", "pid": 9, "tid": 9, "cat": "cuda_runtime", "name": "cudaMemcpy"}
        events.append({**host, "ts": call_ns / 1e3, "dur": 800, "args": {"correlation": number}})
        args = {"device": 0, "context": 1, "stream": 7, "correlation": number, "bytes": 1 << 20}
        copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": args}
        events.append({**copy, "ts": copy_ns / 1e3, "dur": 700})
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
        json.dump({"traceEvents": events}, file)
    return path


def write_nsys(path):
    with sqlite3.connect(path) as file:
        file.executescript("""
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            INSERT INTO StringIds VALUES (1, 'cudaMemcpy_v3020');
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
                (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
                (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
                 correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
                 dstKind INTEGER);
        """)
        process = 5 << 24
        for number, call_ns, copy_ns in copies():
            values = (call_ns, call_ns + 800_000, process + 5, number, 1)
            file.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", values)
            values = (copy_ns, copy_ns + 700_000, 0, 1, 7, number, process, 1 << 20, 1, 0, 2)
            file.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({','.join('?' * 11)})", values)
    return path


WRITERS = {
    "run.tpk": write_own,
    "run.json": write_torch_profiler,
    "run.json.gz": write_torch_profiler,
    "run.sqlite": write_nsys,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_run_is_taken(whatif, tmp_path, name):
    run = WRITERS[name](tmp_path / name)
    result = whatif(run, "--edit", "hoist_upload", "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    # Only our own recording knows the line, and so steps: the last one of them has no end.
    assert [edit["calls"] for edit in answer["edits"]] == [COPIES - 1 if name == "run.tpk" else COPIES]
    assert answer["retimed_step_ns"] == pytest.approx(answer["measured_step_ns"], rel=0.01)
    assert answer["predicted_step_ns"] < answer["measured_step_ns"] / 2
    assert (answer["ranks"], answer["collectives_lost"]) == (1, False)


def test_text_says_what_it_predicts(whatif, tmp_path):
    result = whatif(write_own(tmp_path / "run.tpk"), "--edit", "hoist_upload@train.py:23")
    assert result.returncode == 0
    assert "A step takes" in result.stdout
    assert f"hoist_upload@train.py:23: {COPIES - 1} calls" in result.stdout
    assert "With that it would take" in result.stdout


def write_rank(path, rank, starts_late_ns=0, ends_late_ns=0):
    """Ten all-reduces, a millisecond apart."""
    path.mkdir()
    trace = TraceFile(pid=100 + rank)
    trace.metadata = {"detail": "full", "rank": str(rank)}
    trace.device("GPU")
    for number in range(1, 11):
        start_ns = number * MS + starts_late_ns
        trace.call("cudaLaunchKernel", LAUNCH_CALL, number, start_ns, start_ns + 5_000)
        trace.kernel(ALL_REDUCE, number, start_ns + 8_000, number * MS + 500_000 + ends_late_ns)
    trace.write(path / f"{rank}.tpt")
    return path


def test_ranks_that_meet_are_timed_together(whatif, tmp_path):
    runs = [write_rank(tmp_path / f"rank{rank}.tpk", rank, 100_000 * rank) for rank in range(2)]
    answer = json.loads(whatif(*runs, "--json").stdout)
    assert (answer["ranks"], answer["collectives"]) == (2, 10)
    assert answer["retimed_step_ns"] == pytest.approx(answer["measured_step_ns"], rel=0.01)
    assert "2 ranks are re-timed together" in whatif(*runs).stdout


def test_ranks_that_cannot_be_matched_are_told(whatif, tmp_path):
    runs = [write_rank(tmp_path / f"rank{rank}.tpk", rank, 10**10 * rank, 10**10 * rank) for rank in range(2)]
    answer = json.loads(whatif(*runs, "--json").stdout)
    assert (answer["ranks"], answer["collectives_lost"]) == (1, True)
    assert "cannot be told" in whatif(*runs).stdout


def test_what_is_no_run_is_said(whatif, tmp_path):
    (tmp_path / "notes.txt").write_text("no run")
    result = whatif(tmp_path / "notes.txt")
    assert result.returncode == 3
    assert "is no run that Turnpike knows" in result.stderr


def test_a_file_that_cannot_be_read_beside_others_is_said(whatif, tmp_path):
    (tmp_path / "notes.txt").write_text("no run")
    result = whatif(write_own(tmp_path / "run.tpk"), tmp_path / "notes.txt")
    assert result.returncode == 3
    assert "A step takes" in result.stdout
    assert "notes.txt is no run that Turnpike knows" in result.stderr


def test_an_unknown_change_is_wrong_usage(whatif, tmp_path):
    result = whatif(write_own(tmp_path / "run.tpk"), "--edit", "make_it_fast")
    assert result.returncode == 2
    assert "make_it_fast" in result.stderr
