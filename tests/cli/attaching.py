"""Programs to attach to, and what came of it."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

# A program in Python that initialises the fake CUDA and copies until its standard input ends.
SERVER = """
import ctypes, os, sys, threading, time
cuda = ctypes.CDLL("libcudart.so.13")
cuda.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
cuda.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
device = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(device), 4096) == 0
host = ctypes.create_string_buffer(4096)
is_over = threading.Event()
def serve():
    while not is_over.wait(0.002):
        assert cuda.cudaMemcpy(device, host, 1024, 1) == 0
worker = threading.Thread(target=serve)
worker.start()
print("ready", flush=True)
try:
    for line in sys.stdin:
        exec(line)
finally:
    is_over.set()  # a line that fails ends the program
worker.join()
print("served", flush=True)
sys.exit(5)
"""

# The same in a stand-in for CPython 3.14: the main thread looks for a debugger's request between two lines, and runs
# its script as CPython does. The request is in the memory of the library. A test may replace `safe_moment`.
ASKED = (
    SERVER.replace("import ctypes, os,", "import ctypes, os, select,")
    .replace(
        'print("ready", flush=True)',
        """
python = ctypes.CDLL("libpython3.14.so.1.0")
take = python.fake_python_take  # CPython needs no loader to look
script = ctypes.create_string_buffer(512)
def safe_moment():
    time.sleep(0.001)
    if take(script):
        with open(script.value) as file:
            exec(compile(file.read(), script.value, "exec"), {})
print("ready", flush=True)
""",
    )
    .replace(
        "    for line in sys.stdin:\n        exec(line)",
        """    while True:
        if not select.select([0], [], [], 0)[0]:
            safe_moment()
            continue
        line = sys.stdin.readline()
        if not line:
            break
        exec(line)""",
    )
)


@contextlib.contextmanager
def starting_programs(cwd):
    """Gives a function that starts a program and waits until it says that it is ready. Kills those that are left."""
    started = []

    def start(command, environment, **more):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen([str(word) for word in command], env=environment, cwd=cwd, **pipes, **more)
        started.append(process)
        assert process.stdout.readline() == b"ready\n", process.stderr.read()
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def waits(pid):
    """Whether a process has opened its socket."""
    return re.search(
        rf" 00010000 .* @turnpike\.{os.geteuid()}\.{pid}$", pathlib.Path("/proc/net/unix").read_text(), re.M
    )


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def report(record, run):
    environment = {name: value for name, value in record.environment.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [str(record.turnpike), "report", run, "--json"],
        cwd=record.directory, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def end(process):
    """Waits until a process has ended. Returns its exit code, output and errors."""
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def recording(record, run="run.tpk"):
    return list((record.directory / run).glob("*.tpt")) if (record.directory / run).is_dir() else []


def attached_to(server, attach, record):
    """`turnpike attach` to the process, for a minute, once it records into run.tpk."""
    attached = attach.start(server.pid, "--duration", "60", "-o", "run.tpk")
    until(lambda: recording(record))
    return attached
