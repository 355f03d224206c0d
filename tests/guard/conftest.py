"""Programs under the guard, with a PyTorch and a libcudart that need no GPU.

Each runs in a process of its own: the fake libraries have the names of the real ones.
"""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

PROGRAMS = pathlib.Path(__file__).parent / "programs"  # what they import


@pytest.fixture(scope="session")
def build():
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    return pathlib.Path(folder).resolve()


@pytest.fixture
def environment(build):
    libraries = build / "tests/guard"
    path = os.pathsep.join(filter(None, [str(PROGRAMS), os.environ.get("PYTHONPATH")]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "CUDA", "NVTX"))}
    return {
        **clean,
        "PYTHONPATH": path,
        "TURNPIKE_GUARD_LIBRARY": str(build / "src/guard/libturnpike_guard.so"),
        "FAKE_TORCH": str(libraries / "libtorch_python.so"),
        "FAKE_ALLOCATOR": str(libraries / "libc10_cuda.so"),
        "FAKE_EXTENSION": str(libraries / "libguard_extension.so"),
        "RUNTIME_CALLS": str(libraries / "libguard_runtime_calls.so"),
        "CLANG_EXTENSION": str(libraries / "libguard_clang_extension.so"),
        "FAKE_CUDART": str(libraries / "libcudart_of_guard.so"),
        "FAKE_DRIVER": str(libraries / "libcuda_of_guard.so"),
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
