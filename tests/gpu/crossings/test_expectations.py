"""The suite's own comparison, on reports made by hand: one that finds no difference proves nothing. Needs no GPU."""

import glob
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "independent_count")]

import expectations as ex  # noqa: E402
import kineto_count  # noqa: E402

SOURCE = """
y = x.to("cuda")  # <- T1
z = y.item()  # <- T2
# expect T1: h2d count=2 bytes=80 kinds=pageable->device op=aten::to blocked=2 function=f
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item
# expect T2: sync count=1 api=cudaStreamSynchronize
# expect native: d2h count=1 bytes=40 forward=T1 phase=backward
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "case.py"
    path.write_text(SOURCE)
    return ex.read_program(str(path))


def site(line, direction, count, size, kinds, op, **more):
    src_kind, dst_kind = kinds.split("->")
    row = dict(
        site="", file="/x/case.py", line=line, function="f", op=op, inner_op=None, api="cudaMemcpyAsync", phase="other"
    )
    row.update(direction=direction, src_kind=src_kind, dst_kind=dst_kind, forward_site=None, stack=[], in_graph=False)
    row.update(count=count, bytes=size, blocked_count=count)
    return {**row, **more}


def sync(line, count, **more):
    row = dict(file="/x/case.py", line=line, function="f", op=None, api="cudaStreamSynchronize", phase="other")
    return {**row, "forward_site": None, "stack": [], "count": count, **more}


def right_report():
    sites = [
        site(2, "h2d", 2, 80, "pageable->device", "aten::to"),
        site(3, "d2h", 1, 4, "device->pinned", "aten::item"),
        site(None, "d2h", 1, 40, "device->pageable", None, file=None, forward_site="case.py:2", phase="backward"),
    ]
    totals = {direction: {"count": 0, "bytes": 0} for direction in ex.DIRECTIONS}
    for row in sites:
        totals[row["direction"]]["count"] += row["count"]
        totals[row["direction"]]["bytes"] += row["bytes"]
    return {"sites": sites, "sync_sites": [sync(3, 1)], "totals": totals}


def test_accepts_what_is_expected(program):
    assert ex.compare(program, right_report()) == []
    assert ex.compare_totals(right_report(), program.expected_totals(), "truth") == []


@pytest.mark.parametrize(
    "change",
    [
        {"count": 3},
        {"bytes": 84},
        {"blocked_count": 1},
        {"line": 4},
        {"src_kind": "pinned"},
        {"op": "aten::copy_"},
        {"function": "g"},
        {"direction": "d2h"},
    ],
)
def test_finds_every_difference_of_a_transfer(program, change):
    report = right_report()
    report["sites"][0].update(change)
    assert ex.compare(program, report) != []


def test_finds_a_missing_and_an_extra_transfer(program):
    report = right_report()
    moved = report["sites"].pop()
    assert any("missing" in problem for problem in ex.compare(program, report))
    report["sites"] += [moved, site(9, "memset", 1, 4, "None->device", None)]
    assert any("extra" in problem for problem in ex.compare(program, report))


def test_finds_a_transfer_that_is_reported_at_a_library_line(program):
    report = right_report()
    report["sites"].append(
        site(
            7,
            "h2d",
            1,
            4,
            "pageable->device",
            None,
            file="/lib/torch/x.py",
            stack=["g (/lib/torch/x.py:7)", "f (/x/case.py:2)"],
        )
    )
    assert any("extra" in problem for problem in ex.compare(program, report))


@pytest.mark.parametrize("change", [{"phase": "other"}, {"forward_site": "case.py:3"}, {"forward_site": None}])
def test_finds_a_wrong_forward_line_and_phase(program, change):
    report = right_report()
    report["sites"][2].update(change)
    assert ex.compare(program, report) != []


@pytest.mark.parametrize("change", [{"count": 2}, {"api": "cudaDeviceSynchronize"}, {"line": 2}])
def test_finds_a_wrong_synchronisation(program, change):
    report = right_report()
    report["sync_sites"][0].update(change)
    assert ex.compare(program, report) != []


def test_finds_totals_that_differ_from_the_sites_and_from_the_independent_count(program):
    report = right_report()
    report["totals"]["h2d"]["bytes"] += 1
    problems = ex.compare_totals(report, program.expected_totals(), "truth")
    assert any("the sites sum" in problem for problem in problems)
    assert any("truth counted" in problem for problem in problems)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "# expect nothing\n# expect native: h2d count=1 bytes=1",
        "# expect T1: h2d count=1 bytes=1",
        "# expect native: h2d count=1",
        "# expect native: up count=1 bytes=1",
        "# expect native: h2d count=1 bytes=1 colour=red",
        "a  # <- T1\nb  # <- T1\n# expect T1: h2d count=1 bytes=1",
    ],
)
def test_rejects_comments_that_say_nothing_or_nonsense(tmp_path, text):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ex.ProgramError):
        ex.read_program(str(path))


def test_native_functions_match_by_name():
    assert ex._is_same_text("upload", "upload(float*, std::vector<float> const&)")
    assert ex._is_same_text("upload", "void app::upload(float*)")
    assert not ex._is_same_text("upload", "reupload(float*)")
    assert not ex._is_same_text("upload", None)


def test_every_program_says_what_it_expects_and_uses_every_name():
    paths = [p for p in glob.glob(os.path.join(HERE, "programs", "*.*")) if not os.path.basename(p).startswith("_")]
    single = 0
    for path in paths:
        program = ex.read_program(path)
        named = {expectation.place for expectation in program.expectations}
        assert set(program.lines) <= named, path
        single += program.suite.get("gpus", "1") == "1"
    assert single >= 45


def test_counts_the_trace_of_torch_profiler(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(
        '{"traceEvents": ['
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": {"bytes": 4000}},'
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "args": {"bytes": 8}},'
        '{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "args": {"bytes": 12}},'
        '{"ph": "X", "cat": "kernel", "name": "k", "args": {}}]}'
    )
    totals = kineto_count.count_trace(str(trace))
    assert (totals["h2d"], totals["p2p"], totals["memset"], totals["d2h"]) == ([1, 4000], [1, 8], [1, 12], [0, 0])
