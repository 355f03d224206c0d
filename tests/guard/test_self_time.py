"""TURNPIKE_SELF_TIME=1: how long the guard's own code takes in the calls of PyTorch, without CUDA's functions."""

import json

PROGRAM = """
import ctypes, json
from turnpike._guard.library import call, functions

def spent():
    count, ns = ctypes.c_uint64(), ctypes.c_uint64()
    is_counted = functions()["self_time"](count, ns)
    return is_counted, count.value, ns.value

found = {"before": spent()}
with tp.guard(h2d="log", pageable="log"):
    torch.CUDART.fake_take(CALL_MS, QUESTION_MS)
    for _ in range(5):
        torch.upload(1000, 0)
    torch.CUDART.fake_take(0, 0)
found["guarded"] = spent()
torch.upload(1000, 0)
found["after"] = spent()
print(json.dumps(found))
"""


def found_with(run, call_ms, question_ms, **variables):
    program = PROGRAM.replace("CALL_MS", str(call_ms)).replace("QUESTION_MS", str(question_ms))
    return json.loads(run(program, **variables).stdout)


def test_what_the_guard_asks_is_its_time(run):
    found = found_with(run, 0, 40, TURNPIKE_SELF_TIME="1")
    assert found["before"] == [1, 0, 0]
    assert found["guarded"][:2] == [1, 5]
    assert found["guarded"][2] >= 5 * 40e6


def test_what_cuda_takes_is_not(run):
    found = found_with(run, 80, 0, TURNPIKE_SELF_TIME="1")
    assert found["guarded"][1] == 5
    assert 0 < found["guarded"][2] < 5 * 40e6


def test_calls_outside_of_a_guard_are_counted_too(run):
    found = found_with(run, 0, 0, TURNPIKE_SELF_TIME="1")
    assert found["after"][1] == found["guarded"][1] + 1


def test_nothing_is_counted_unless_asked_for(run):
    found = found_with(run, 0, 5)
    assert set(map(tuple, found.values())) == {(0, 0, 0)}
