"""Code of torch.compile under the guard: it raises at the line of the program that the code was made from.

With the real PyTorch and its compiler. An operator of a library calls the fake PyTorch, which calls the fake runtime.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("torch")

LIBRARY = """
import ctypes, os, torch
RUNTIME = ctypes.CDLL(os.environ["FAKE_CUDART"])
DRIVER = ctypes.CDLL(os.environ["FAKE_DRIVER"])
FAKE = ctypes.PyDLL(os.environ["FAKE_TORCH"])
FAKE.function.restype = ctypes.py_object
upload_40, allocate, synchronize = (FAKE.function(name) for name in (b"upload", b"allocate", b"synchronize"))

@torch.library.custom_op("fakeops::upload", mutates_args=())
def upload(x: torch.Tensor) -> torch.Tensor:
    for call in calls:
        call()
    return x.clone()

@upload.register_fake
def _(x):
    return torch.empty_like(x)

def copy():
    upload_40(40, 0)

calls = [copy]
"""

PROGRAM = """
import torch, fakeops, turnpike as tp
def step(x):
    scaled = x * 2
    moved = fakeops.upload(scaled)  # line 5
    return moved + 1
def compiled(backend):
    torch._dynamo.reset()
    return torch.compile(step, backend=backend, fullgraph=True)
x = torch.ones(10)
"""


@pytest.fixture
def run_compiled(environment, tmp_path):
    def run_compiled(program):
        library = tmp_path / "site-packages"  # a library's frames are not where it raises
        library.mkdir()
        (library / "fakeops.py").write_text(LIBRARY)
        path = tmp_path / "train.py"
        path.write_text(PROGRAM + program)
        # Inductor's files stand where nobody recognises the folder.
        more = {
            "PYTHONPATH": f"{library}{os.pathsep}{environment['PYTHONPATH']}",
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        done = subprocess.run(
            [sys.executable, str(path)], env=environment | more, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run_compiled


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_it_raises_at_the_line_that_was_compiled(run_compiled, backend):
    done = run_compiled(f"""
function = compiled("{backend}")
for _ in range(2):
    try:
        with tp.guard(h2d="disallow"):
            function(x)
    except tp.TransferError as error:
        assert (error.file, error.line, error.function) == (__file__, 5, "step"), (error.file, error.line)
        assert "at train.py:5 in step()" in str(error)
    else:
        raise AssertionError
with tp.guard(h2d="disallow", allow=["h2d train.py:5"]):
    assert function(x).tolist() == [3] * 10
with tp.guard(h2d="log"):
    function(x)
""")
    assert "h2d of 40 B by aten::to at train.py:5 in step()" in done.stderr


@pytest.mark.parametrize("call", ["allocate", "synchronize"])
def test_what_an_allocator_calls_does_not_wait_for_pythons_lock(run_compiled, call):
    # Its line is known once Python came to look it up by itself.
    run_compiled(f"""
function = compiled("eager")
fakeops.calls[:] = [fakeops.{call}]
lines = []
for _ in range(3):
    try:
        with tp.guard(alloc="disallow", sync="disallow"):
            function(x)
    except tp.TransferError as error:
        lines.append(error.line)
assert lines[0] != 5 and lines[1:] == [5, 5], lines
""")


def test_a_copy_of_a_thread_looks_its_line_up_while_the_main_thread_waits(run_compiled):
    # Before 3.12, Python cannot promise then to tell of its end.
    run_compiled("""
import threading
def work():
    try:
        with tp.guard(h2d="disallow"):
            compiled("eager")(x)
    except tp.TransferError as error:
        lines.append(error.line)
lines = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert lines == [5], lines
""")


def test_what_a_signals_handler_raises_meanwhile_is_the_programs(run_compiled):
    # The signal arrives while the driver is asked. Its handler runs with the next Python code.
    run_compiled("""
import signal
class Alarm(Exception):
    pass
def on_alarm(*_):
    seen.append(True)
    raise Alarm
signal.signal(signal.SIGALRM, on_alarm)
seen, caught = [], []
function = compiled("eager")
with tp.guard(h2d="log", pageable=100):
    fakeops.RUNTIME.fake_take(0, 300)
    fakeops.calls.insert(0, lambda: signal.setitimer(signal.ITIMER_REAL, 0.1))
    try:
        function(x)
        for _ in range(1000):
            pass
    except Alarm:
        caught.append(True)
    fakeops.RUNTIME.fake_take(0, 0)
assert seen == [True] and caught == [True], (seen, caught)
""")
