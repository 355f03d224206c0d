"""The kind `repeat`: the same line uploads the same bytes again."""

import pytest

DATA = """
import ctypes, logging
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append(record)
logging.getLogger("turnpike.guard").addHandler(Keep())
logging.getLogger("turnpike.guard").propagate = False
data = (ctypes.c_char * 100_000)()
def upload(size=100_000):
    torch.upload_from(ctypes.addressof(data), size)  # line 12
def again(change, times=4, **rules):
    records.clear()
    with tp.guard(**(rules or {"repeat": "log"})):
        for step in range(times):
            change(step)
            upload()
    return [(record.transfer_kind, record.transfer_count) for record in records]
def fill(step):
    data[:] = bytes([step % 256]) * len(data)
"""


def test_the_same_bytes_from_the_same_line_are_logged_once_and_counted(run):
    run(
        DATA
        + """
assert again(lambda step: None) == [("repeat", 3)]  # the first time nothing is repeated
assert records[0].transfer_line == 12 and records[0].transfer_direction == "h2d"
text = records[0].getMessage()
assert "repeated h2d of 100 kB by aten::copy_ at train.py:12 in upload(): pageable memory -> GPU" in text, text
assert "this line uploaded the same bytes before. Upload it once, and keep it on the GPU" in text, text
assert torch.calls() == 4
"""
    )


def test_other_bytes_are_no_repeat(run):
    run(
        DATA
        + """
assert again(lambda step: fill(step + 1)) == []
def one_end(step):
    data[len(data) - 1 - step] = 7
assert again(one_end) == []
"""
    )


def test_it_is_remembered_from_one_block_to_the_next(run):
    run(
        DATA
        + """
fill(9)
assert again(lambda step: None, times=1) == []
assert again(lambda step: None, times=1) == [("repeat", 1)]
fill(8)
assert again(lambda step: None, times=1) == []
"""
    )


def test_without_the_rule_nothing_is_remembered(run):
    run(
        DATA
        + """
fill(3)
assert again(lambda step: None, h2d="allow") == []
assert again(lambda step: None, times=1) == []
"""
    )


def test_another_line_with_the_same_bytes_is_no_repeat(run):
    run(
        DATA
        + """
with tp.guard(repeat="log"):
    torch.upload_from(ctypes.addressof(data), 5000)
    torch.upload_from(ctypes.addressof(data), 5000)
    torch.upload_from(ctypes.addressof(data), 6000)
assert records == []
"""
    )


def test_numbers_are_too_small_to_tell(run):
    run(
        DATA
        + """
def count(size):
    records.clear()
    with tp.guard(repeat="log"):
        for _ in range(3):
            upload(size)
    return len(records)
assert count(63) == 0 and count(64) == 1
"""
    )


def test_captured_copies_read_at_each_replay(run):
    run(
        DATA
        + """
def stream_upload():
    torch.upload(1000, 1)
torch.CUDART.fake_capture(1)
with tp.guard(repeat="log"):
    for _ in range(3):
        stream_upload()
assert records == []
torch.CUDART.fake_capture(0)
with tp.guard(repeat="log"):
    for _ in range(3):
        stream_upload()
assert len(records) == 1
"""
    )


def test_it_can_be_allowed(run):
    run(
        DATA
        + """
def allowed(step):
    with tp.allow("repeat", reason="a benchmark"):
        upload()
records.clear()
with tp.guard(repeat="log"):
    for step in range(3):
        allowed(step)
assert records == []
assert again(lambda step: None, repeat="log", allow="repeat train.py:upload") == []
"""
    )


@pytest.mark.parametrize("level", ["disallow", "2", "1 MB"])
def test_it_is_only_logged(run, level):
    run(
        DATA
        + f"""
try:
    tp.guard(repeat={level!r})
except ValueError as error:
    assert "repeat: " in str(error) and "repeats are only logged" in str(error), error
else:
    raise AssertionError
"""
    )


def test_two_threads_remember_together(run):
    run(
        DATA
        + """
import threading
fill(5)
def work():
    with tp.guard(repeat="log"):
        upload()
for _ in range(3):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
assert len(records) == 1
import turnpike._guard.log as log
log._summarise()
assert records[-1].transfer_count == 2
"""
    )
