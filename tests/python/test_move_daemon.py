"""The end of the interpreter while daemon threads are inside the engine's bindings."""

import subprocess
import sys

_PROGRAM = """
import threading, time
from turnpike import _core

def call():
    while True:
        try:
            _core.MoveEngine.open((2, 4096, 16384))
        except _core.Error:  # without a driver or a GPU: it has been without the interpreter's lock all the same
            pass

for _ in range(8):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.2)
"""


def test_a_daemon_thread_inside_the_engine_does_not_abort_the_end_of_the_process() -> None:
    for _ in range(5):
        process = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60)
        assert process.returncode == 0, process.stderr
        assert process.stderr == ""
