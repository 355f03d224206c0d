"""Programs under the guard, with a PyTorch and a libcudart that need no GPU.

Each runs in a process of its own: the fake libraries have the names of the real ones.
"""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

FAKE = '''\
"""The PyTorch that the programs call."""
import ctypes, os, sys, types

LIBRARY = ctypes.PyDLL(os.environ["FAKE_TORCH"])
CUDART = ctypes.CDLL(os.environ["FAKE_CUDART"])
CUDART.fake_calls.restype = ctypes.c_long
for name in ("item", "upload", "copy_between", "blocking_copy", "synchronize", "allocate", "destroy", "wait_noexcept",
             "fail_and_unwind", "backward", "mark", "work_for_autograd"):
    function = getattr(LIBRARY, name)
    function.restype = ctypes.py_object
    globals()[name] = function
LIBRARY.upload.argtypes = [ctypes.c_size_t, ctypes.c_int]
calls = CUDART.fake_calls
_C = types.SimpleNamespace(_stash_obj_in_tls=lambda key, value: mark(key.encode()))
sys.modules["torch"] = sys.modules[__name__]
'''


@pytest.fixture(scope="session")
def build():
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    return pathlib.Path(folder).resolve()


@pytest.fixture
def environment(build, tmp_path):
    libraries = build / "tests/guard"
    (tmp_path / "faketorch.py").write_text(FAKE)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "CUDA", "NVTX"))}
    return {
        **clean,
        "PYTHONPATH": path,
        "TURNPIKE_GUARD_LIBRARY": str(build / "src/guard/libturnpike_guard.so"),
        "FAKE_TORCH": str(libraries / "libtorch_cpu.so"),
        "FAKE_EXTENSION": str(libraries / "libguard_extension.so"),
        "FAKE_CUDART": str(libraries / "libcudart_of_guard.so"),
    }


@pytest.fixture
def run(environment, tmp_path):
    """Runs a program as train.py behind two lines of imports; it must end well. Gives what it printed."""

    def run(program, code=0, **variables):
        path = tmp_path / "train.py"
        imports = "import faketorch as torch, turnpike as tp\nimport contextlib, sys"
        path.write_text(imports + textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, str(path)], env={**environment, **variables}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run
