"""Trainers of the real libraries on the CPU, beside the fake driver, runtime and CUPTI: recordings without a GPU."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import turnpike


def pytest_itemcollected(item):
    """Each of these tests starts programs that import PyTorch and a framework."""
    item.add_marker(pytest.mark.slow)


# PyTorch has its own runtime in the process, so the fake one is opened by its path. What a step "transfers" says where
# in the step it was.
HEAD = """
import ctypes, json, os, sys, warnings
import torch
ctypes.CDLL(os.environ["FAKES"] + "/libcuda.so.1", ctypes.RTLD_GLOBAL)
_cudart = ctypes.CDLL(os.environ["FAKES"] + "/libcudart.so.13")
_device, _host = ctypes.c_void_p(), (ctypes.c_char * 65536)()
assert _cudart.cudaMalloc(ctypes.byref(_device), ctypes.c_size_t(65536)) == 0

def upload(size):
    assert _cudart.cudaMemcpy(_device, _host, ctypes.c_size_t(size), 1) == 0

def tell(report):
    import collections, pyarrow
    steps = report and report.steps
    sizes = pyarrow.table(report.table("transfers"))["bytes"].to_pylist() if report else []
    print(json.dumps(report and {
        "sizes": collections.Counter(map(str, sizes)),
        "steps": steps and steps.count, "source": steps and steps.source,
        "identities": report.to_dict()["source"]["identities"],
    }))
"""


@pytest.fixture
def fakes():
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail(
            "TURNPIKE_BUILD is not set: name the folder in which Turnpike was built, with its tests", pytrace=False
        )
    return pathlib.Path(folder).resolve() / "tests" / "fake" / "lib"


def started(command, folder, environment):
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL
    )
    return result.returncode, result.stdout, result.stderr


@pytest.fixture(scope="module")
def imported(request):
    """Runs scripts in children of a process that has imported what the test's module names as IMPORTED."""
    command = [sys.executable, pathlib.Path(__file__).with_name("imports_before.py"), *request.module.IMPORTED]
    environment = {**os.environ, **SETTINGS}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:

        def run(script, folder, environment):
            out, err = folder / "program.out", folder / "program.err"
            task = {"script": script, "folder": folder, "environment": environment, "out": out, "err": err}
            print(json.dumps(task, default=str), file=process.stdin)
            return int(process.stdout.readline()), out.read_text(), err.read_text()

        yield run
        process.stdin.close()


# What PyTorch and the frameworks read when they are imported.
SETTINGS = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def program(request, fakes, tmp_path):
    """Runs a program with PyTorch and the calls of HEAD in a process of its own, which imports all itself if `is_fresh`
    or if the test's module names no IMPORTED. Returns what it printed, and its last line's JSON."""

    def run(text, launcher=(), has_gpu=True, is_fresh=False, **variables):
        script = tmp_path / "program.py"
        script.write_text(HEAD + textwrap.dedent(text))
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TURNPIKE_", "CUDA_INJ", "NVTX_", "SLURM_", "RAY_"))
        }
        # For processes that a launcher starts elsewhere.
        environment["HEAD"] = HEAD
        environment |= {"FAKES": str(fakes), "PYTHONPATH": str(pathlib.Path(turnpike.__file__).parents[1]), **variables}
        environment |= SETTINGS
        environment["TURNPIKE_CUPTI"] = str(fakes / "libfakecupti.so") if has_gpu else "/nowhere/libcupti.so"
        if launcher or is_fresh or not hasattr(request.module, "IMPORTED"):
            status, out, err = started([sys.executable, *launcher, str(script)], tmp_path, environment)
        else:
            status, out, err = request.getfixturevalue("imported")(script, tmp_path, environment)
        assert status == 0, err[-4000:]
        return out, json.loads(out.splitlines()[-1])

    return run
