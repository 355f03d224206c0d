"""The recorder's stacks as Python objects, and the check that one is what CPython itself says."""

import collections
import ctypes
import os
import sys
import threading
import traceback

Frame = collections.namedtuple("Frame", "kind function file line first_line offset")
Stack = collections.namedtuple("Stack", "id is_truncated frames")
Losses = collections.namedtuple("Losses", "full not_walked truncated unnamed_library")
KEPT_PYTHON_FRAMES = 128

path = os.environ["TURNPIKE_STACK_PROBE"]
# The same library twice: called with the GIL released (CDLL), and held (PyDLL).
library = ctypes.CDLL(path)
library_with_gil = ctypes.PyDLL(path)
library.probe_time_capture.restype = ctypes.c_double
library.probe_time_at_allocation.restype = ctypes.c_double
library.probe_time_autograd.restype = ctypes.c_double
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint32)
_of_thread = threading.local()


def read(number):
    """The stack of a number, as a reader of the file would know it."""
    if not hasattr(_of_thread, "text"):
        _of_thread.text = ctypes.create_string_buffer(1 << 18)
    text = _of_thread.text
    size = library_with_gil.probe_text(number, text, len(text))
    assert 0 <= size < len(text), f"stack {number} is not defined"
    lines = text.value.decode("utf-8").split("\n")[:-1]
    frames = []
    for line in lines[1:]:
        kind, function, file, number_text, first, offset = line.split("\t")
        frames.append(Frame(kind, function, file, int(number_text), int(first), int(offset)))
    return Stack(number, int(lines[0]) & 1 == 1, frames)


def capture():
    return library.probe_capture()


def losses():
    four = (ctypes.c_uint64 * 4)()
    library_with_gil.probe_losses(four)
    return Losses(*four)


def as_written(text):
    """Names in the file are UTF-8: a lone surrogate cannot be."""
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def expected_frames(frame):
    """What CPython says, innermost first: (function, file, executing line, line of the def)."""
    expected = []
    for each, line in traceback.walk_stack(frame):
        code = each.f_code
        name = getattr(code, "co_qualname", code.co_name)
        expected.append((as_written(name), as_written(code.co_filename), line or 0, max(code.co_firstlineno, 0)))
    return expected


def compare(stack, expected):
    """Every Python frame of `stack` from the second on (the first is the caller of capture) against `expected`."""
    found = [(f.function, f.file, f.line, f.first_line) for f in stack.frames if f.kind == "P"][1:]
    kept = expected[: KEPT_PYTHON_FRAMES - 1]
    assert stack.is_truncated == (len(expected) > len(kept)), (stack.is_truncated, len(expected))
    for depth, (one, other) in enumerate(zip(found, kept)):
        assert one == other, f"frame {depth}: captured {one}, CPython says {other}"
    assert len(found) == len(kept), f"{len(found)} frames captured, CPython says {len(kept)}"


def check():
    """Captures here and compares with what CPython says about the caller and outwards."""
    number = library.probe_capture()
    held = library_with_gil.probe_capture()
    expected = expected_frames(sys._getframe(1))
    for each in (number, held):
        compare(read(each), expected)
    return number


def run(cases):
    """Runs every case, says so, and leaves with 1 when one failed."""
    failures = 0
    for case in cases:
        try:
            reason = case()
        except BaseException:
            failures += 1
            print(f"FAILED {case.__name__}")
            traceback.print_exc(file=sys.stdout)
            continue
        print(f"skipped {case.__name__}: {reason}" if isinstance(reason, str) else f"ok {case.__name__}")
    sys.stdout.flush()
    sys.exit(1 if failures else 0)
