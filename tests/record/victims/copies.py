# A victim in Python: copies through ctypes, from a function, a generator, a thread and code without a file.
import ctypes
import os
import signal
import sys
import threading
import time

cudart = ctypes.CDLL("libcudart.so.13")
HOST_TO_DEVICE = 1
device = ctypes.c_void_p()
assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(4096)) == 0
source = (ctypes.c_char * 4096)()


def upload(size):
    assert cudart.cudaMemcpy(device, source, ctypes.c_size_t(size), HOST_TO_DEVICE) == 0  # line of upload


def in_function():
    upload(101)  # line 101


def generator():
    yield upload(102)  # line 102


class Model:
    def forward(self):
        upload(103)  # line 103


in_function()
list(generator())
Model().forward()
thread = threading.Thread(target=lambda: upload(104))  # line 104
thread.start()
thread.join()
exec(compile("upload(105)", "<made up>", "exec"))
for _ in range(300):
    upload(106)  # line 106


def busy(seconds):
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1


def busy_beside():
    upload(107)
    busy(0.5)


if "VICTIM_KILLED" in os.environ:
    os.kill(os.getpid(), signal.SIGKILL)
if "VICTIM_BUSY" in os.environ:
    beside = threading.Thread(target=busy_beside)
    beside.start()
    busy(0.5)
    beside.join()
print("python", sys.version_info[0])
