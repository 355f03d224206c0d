"""The line that the engine's copies are shown at."""

import os

import pytest

from turnpike._move import label


@pytest.fixture
def listened(monkeypatch):
    monkeypatch.setattr(label, "_is_listened", True)


def test_nobody_listens_and_no_line_is_looked_for(monkeypatch):
    monkeypatch.setattr(label, "_is_listened", False)
    assert label.caller_label("tp.to") == ""


def test_it_is_the_innermost_line_outside_of_turnpike(listened, monkeypatch):
    ours = {"label": label}
    path = os.path.join(os.path.dirname(label.__file__), "to.py")
    exec(compile("def inner(): return label.caller_label('tp.to')\ndef to(): return inner()", path, "exec"), ours)
    monkeypatch.chdir(os.path.dirname(__file__))
    program = {"to": ours["to"]}
    exec(compile("\n\nfound = to()", os.path.join(os.getcwd(), "sub", "train.py"), "exec"), program)
    assert program["found"] == "sub/train.py:3 tp.to"
    exec(compile("\nfound = to()", "/elsewhere/train.py", "exec"), program)
    assert program["found"] == "/elsewhere/train.py:2 tp.to"
    exec(compile("\nfound = to()", "<string>", "exec"), program)
    assert program["found"] == "<string>:2 tp.to"
