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


def _function(name):
    function = getattr(LIBRARY, name)
    function.restype = ctypes.py_object
    return function


item, synchronize, blocking_copy, allocate = map(_function, ("item", "synchronize", "blocking_copy", "allocate"))
upload, copy_between, backward = map(_function, ("upload", "copy_between", "backward"))
destroy, wait_noexcept, fail_and_unwind = map(_function, ("destroy", "wait_noexcept", "fail_and_unwind"))
work_for_autograd = _function("work_for_autograd")
upload.argtypes = [ctypes.c_size_t, ctypes.c_int]
upload_from = _function("upload_from")
upload_from.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

sys.modules["torch"] = sys.modules[__name__]
