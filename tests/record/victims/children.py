"""A victim in Python: a child of multiprocessing copies and ends as such children do. children.py METHOD"""

import ctypes
import multiprocessing
import sys


def copy():
    cudart = ctypes.CDLL("libcudart.so.13")
    device = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(4096)) == 0
    source = (ctypes.c_char * 4096)()
    for _ in range(50):
        assert cudart.cudaMemcpy(device, source, ctypes.c_size_t(50), 1) == 0


if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[1]).Process(target=copy)
    child.start()
    child.join()
    print("child", child.exitcode)
