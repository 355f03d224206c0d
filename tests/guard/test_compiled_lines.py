"""Code of torch.compile under the guard: it raises at the function of the program that was compiled.

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
def step(x):  # line 3
    scaled = x * 2
    moved = fakeops.upload(scaled)
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
def test_it_raises_at_the_function_that_was_compiled(run_compiled, backend):
    done = run_compiled(f"""
function = compiled("{backend}")
for _ in range(2):
    try:
        with tp.guard(h2d="disallow"):
            function(x)
    except tp.TransferError as error:
        assert (error.file, error.line, error.function) == (__file__, 3, "step"), (error.file, error.line)
        assert "at train.py:3 in step()" in str(error)
    else:
        raise AssertionError
with tp.guard(h2d="disallow", allow=["h2d train.py:3"]):
    assert function(x).tolist() == [3] * 10
with tp.guard(h2d="log"):
    function(x)
""")
    assert "h2d of 40 B by aten::to at train.py:3 in step()" in done.stderr


def test_it_asks_python_nothing(run_compiled):
    run_compiled("""
import gc
gc.get_referrers = gc.get_objects = lambda *_: asked.append(True)
asked = []
with tp.guard(h2d="log"):
    compiled("eager")(x)
for _ in range(1000):
    pass
assert asked == [], asked
""")
