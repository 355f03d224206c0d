"""libcudart and libcuda through ctypes, for the programs that call them without a framework. Not a program itself."""

import ctypes
import glob
import importlib.util
import os
from ctypes import POINTER, c_int, c_size_t, c_ubyte, c_uint, c_void_p


def _load_runtime():
    spec = importlib.util.find_spec("nvidia")
    folders = [os.path.join(path, "*", "lib") for path in spec.submodule_search_locations] if spec else []
    for folder in [*folders, "/usr/local/cuda/lib64"]:
        if places := sorted(glob.glob(os.path.join(folder, "libcudart.so.1[23]"))):
            return ctypes.CDLL(places[-1])
    return ctypes.CDLL("libcudart.so.13")


class Location(ctypes.Structure):
    """cudaMemLocation"""

    _fields_ = [("type", c_int), ("id", c_int)]


class CopyAttributes(ctypes.Structure):
    """cudaMemcpyAttributes"""

    _fields_ = [("order", c_int), ("src", Location), ("dst", Location), ("flags", c_uint)]


HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4

_RUNTIME = {
    "cudaMalloc": [POINTER(c_void_p), c_size_t],
    "cudaMallocHost": [POINTER(c_void_p), c_size_t],
    "cudaMallocManaged": [POINTER(c_void_p), c_size_t, c_uint],
    "cudaMemcpy": [c_void_p, c_void_p, c_size_t, c_int],
    "cudaMemcpyAsync": [c_void_p, c_void_p, c_size_t, c_int, c_void_p],
    "cudaMemcpy2D": [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_int],
    "cudaMemcpyPeerAsync": [c_void_p, c_int, c_void_p, c_int, c_size_t, c_void_p],
    "cudaMemcpyBatchAsync": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_void_p],
    "cudaMemset": [c_void_p, c_int, c_size_t],
    "cudaMemsetAsync": [c_void_p, c_int, c_size_t, c_void_p],
    "cudaMemPrefetchAsync": [c_void_p, c_size_t, Location, c_uint, c_void_p],
    "cudaSetDevice": [c_int],
    "cudaStreamCreate": [POINTER(c_void_p)],
    "cudaStreamSynchronize": [c_void_p],
    "cudaDeviceSynchronize": [],
}
_DRIVER = {
    "cuInit": [c_uint],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuMemAlloc_v2": [POINTER(c_void_p), c_size_t],
    "cuMemcpyHtoD_v2": [c_void_p, c_void_p, c_size_t],
    "cuMemcpyHtoDAsync_v2": [c_void_p, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoH_v2": [c_void_p, c_void_p, c_size_t],
    "cuMemcpyDtoD_v2": [c_void_p, c_void_p, c_size_t],
    "cuMemsetD8_v2": [c_void_p, c_ubyte, c_size_t],
    "cuMemsetD32_v2": [c_void_p, c_uint, c_size_t],
    "cuCtxSynchronize": [],
}


def _checked(result, function, arguments):
    if result != 0:
        raise RuntimeError(f"{function.__name__} failed: {result}")
    return result


def _functions(library, signatures):
    for name, arguments in signatures.items():
        # Older runtimes lack the newest: a program that needs one fails at its own line.
        function = getattr(library, name, None)
        if function is None:
            continue
        function.argtypes, function.restype, function.errcheck = arguments, c_int, _checked
    return library


def runtime():
    """libcudart; every function raises on an error."""
    return _functions(_load_runtime(), _RUNTIME)


def driver():
    """libcuda; every function raises on an error."""
    return _functions(ctypes.CDLL("libcuda.so.1"), _DRIVER)


def allocate(function, size, *more):
    """The address that an allocating function of either library gives."""
    pointer = c_void_p()
    function(ctypes.byref(pointer), size, *more)
    return pointer.value
