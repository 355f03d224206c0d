"""What tp.to and its like copy: on purpose, unless moves="disallow"."""

OWN = """
from turnpike._guard import moves
def to(size=1000, direction="h2d"):
    moves.ask(direction, size)  # as the engine's calls do; line 5
def caught(function, *arguments, **rules):
    try:
        with tp.guard(**rules):
            function(*arguments)
    except tp.TransferError as error:
        return error
"""


def test_they_pass_unless_the_rules_guard_them(run):
    run(
        OWN
        + """
assert caught(to, h2d="disallow") is None
assert caught(to, h2d="disallow", moves="allow") is None
error = caught(to, h2d="disallow", moves="disallow")
assert (error.kind, error.direction, error.bytes, error.line, error.function) == ("h2d", "h2d", 1000, 5, "to")
assert error.exact and error.op is None, vars(error)
assert "a copy of Turnpike's own, which moves=\\"disallow\\" guards" in str(error), error
assert caught(to, 8, "d2h", h2d="disallow", moves="disallow") is None
assert caught(to, 8, "d2h", d2h="disallow", moves="disallow").kind == "d2h"
assert caught(to, h2d="2 kB", moves="disallow") is None
assert "more than the 999 B permitted" in str(caught(to, h2d="999 B", moves="disallow"))
assert caught(to, h2d="disallow", moves="disallow", allow="train.py:to") is None
to()
assert moves.guarded == 0
"""
    )


def test_the_innermost_block_that_names_the_kind_decides(run):
    run(
        OWN
        + """
def inside():
    with tp.guard(h2d="disallow"):  # of moves it says nothing
        to()
    with tp.allow("h2d"):
        to()
assert caught(inside, h2d="disallow", moves="disallow") is None
def strict_inside():
    with tp.guard(h2d="disallow", moves="disallow"):
        to()
assert caught(strict_inside, h2d="disallow").line == 5
"""
    )


def test_where_no_block_guards_them_the_library_is_not_asked(run):
    run(
        OWN
        + """
import turnpike._guard.moves
moves.call = None
with tp.guard(h2d="disallow"):
    to()
"""
    )


def test_what_they_leave_to_pytorch_passes_as_well(run, tmp_path):
    folder = tmp_path / "turnpike" / "_move"
    folder.mkdir(parents=True)
    (folder / "own_to.py").write_text("def to(function, *arguments):\n    function(*arguments)\n")
    run(
        OWN
        + """
import os
sys.path.append(os.path.join(os.path.dirname(__file__), "turnpike/_move"))
import own_to
assert caught(own_to.to, torch.upload, 100, 0, h2d="disallow", pageable="disallow") is None
error = caught(own_to.to, torch.upload, 100, 0, h2d="disallow", moves="disallow")
assert error.bytes == 100 and error.function == "caught", vars(error)
assert caught(own_to.to, torch.allocate, alloc="disallow").kind == "alloc"
assert caught(own_to.to, torch.synchronize, sync="disallow").kind == "sync"
"""
    )


def test_other_threads_moves_are_not_guarded(run):
    run(
        OWN
        + """
import threading
failed = []
def work():
    try:
        to()
    except RuntimeError as error:
        failed.append(error)
def in_another_thread(**rules):
    with tp.guard(h2d="disallow", moves="disallow", **rules):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
in_another_thread()
assert not failed
in_another_thread(threads="all")
assert len(failed) == 1
"""
    )
