"""The PyTorch that the programs call."""

import ctypes
import os
import sys

LIBRARY = ctypes.PyDLL(os.environ["FAKE_TORCH"])
CUDART = ctypes.CDLL(os.environ["FAKE_CUDART"])
if os.environ.get("FAKE_DRIVER"):
    ctypes.CDLL(os.environ["FAKE_DRIVER"])
CUDART.fake_calls.restype = ctypes.c_long
calls = CUDART.fake_calls


LIBRARY.function.restype = ctypes.py_object
_NAMES = (
    "item", "upload", "upload_from", "copy_between", "allocate", "blocking_copy", "synchronize", "decompose", "reduce",
    "fail_and_unwind", "backward", "work_for_autograd", "call", "call_in_operator", "call_python",
)  # fmt: skip
globals().update({name: LIBRARY.function(name.encode()) for name in _NAMES})


def library(variable):
    """Another library that calls the runtime; its functions are for call()."""
    return ctypes.PyDLL(os.environ[variable])


def address(function):
    """Of a function of a library."""
    return ctypes.cast(function, ctypes.c_void_p).value


sys.modules["torch"] = sys.modules[__name__]
