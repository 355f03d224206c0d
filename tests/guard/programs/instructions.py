"""How many instructions a function takes, and how much of the guard's code: exact, and the same under load.

count_instructions.cpp counts.
"""

import ctypes
import functools
import gc
import os

_LIBRARY = ctypes.PyDLL(os.environ["COUNT_INSTRUCTIONS"])
_LIBRARY.end_counting.restype = _LIBRARY.end_lines.restype = ctypes.c_uint64


def _nothing():
    pass


def _counted(function, warm, counting=(_LIBRARY.begin_counting, _LIBRARY.end_counting)):
    # All calls come from the same line: to a guard, another line is another place.
    gc.disable()
    found = []
    uncounted = [(_nothing, _nothing)] * warm
    for begin, end in [*uncounted, counting] * 2:
        begin()
        function()
        found.append(end())
    gc.enable()
    return min(count for count in found if count is not None)


@functools.cache
def _of_counting():
    return _counted(_nothing, 5)


def taken_by(function, warm=30):
    """Of a call that was made before."""
    return _counted(function, warm) - _of_counting()


def lines_of(function, warm=30):
    """The lines of memory, 64 bytes each, of the guard's code that such a call executes."""
    return _counted(function, warm, (_LIBRARY.begin_lines, _LIBRARY.end_lines))
