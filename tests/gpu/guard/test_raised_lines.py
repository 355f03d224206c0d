"""What run.py reads out of a program's output, on text made by hand. Needs no GPU."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "crossings")]

import expectations as ex  # noqa: E402
import raised_lines  # noqa: E402

SOURCE = """
y = x.to("cuda")  # <- T1
z = y.item()  # <- T2
# expect T1: h2d count=2 bytes=80
# expect T2: d2h count=1 bytes=4
# expect T2: sync count=1
# expect T2: d2d count=0 bytes=0
# expect native: d2h count=1 bytes=4
# expect native: h2d count=1 bytes=8 guard=graph.py:unpack
"""
OUTPUT = """\
Traceback (most recent call last):
  File "/x/program.py", line 2, in <module>
RuntimeError: turnpike.guard: h2d of 40 B by aten::to at program.py:2 in f(): pageable memory -> GPU. Make it on the ...
turnpike.guard: d2h of 4 B by cudaMemcpyAsync on the thread pt_autograd_0, which runs no Python
turnpike.guard: sync by cudaStreamSynchronize at program.py:9 in f()
"""


def read(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    return ex.read_program(str(path))


def test_expectations_are_lines_with_a_direction(tmp_path):
    assert {str(line) for line in raised_lines.expected_lines(read(tmp_path))} == {
        "h2d at program.py:2",
        "d2h at program.py:3",
        "d2h at native",
        "h2d at graph.py:unpack",
    }


def test_copies_that_raised_are_found_with_their_lines():
    found = raised_lines.found_in(OUTPUT)
    assert found == {raised_lines.Line("program.py:2", "h2d", "f"), raised_lines.Line("native", "d2h")}


def test_a_line_is_as_expected_by_its_number_or_its_function():
    raised = raised_lines.Line("graph.py:405", "h2d", "save_on_cpu.__init__.<locals>.unpack")
    for place, expected in (("graph.py:405", True), ("graph.py:unpack", True), ("graph.py:save_on_cpu", False),
                            ("other.py:unpack", False), ("graph.py:40", False), ("native", False)):  # fmt: skip
        assert raised.is_as(raised_lines.Line(place, "h2d")) == expected, place
    assert not raised.is_as(raised_lines.Line("graph.py:unpack", "d2h"))
    assert raised_lines.Line("native", "h2d").is_as(raised_lines.Line("native", "h2d"))


def test_nothing_is_found_in_other_output():
    assert raised_lines.found_in("RuntimeError: CUDA error\nturnpike: h2d at x.py:1") == set()
