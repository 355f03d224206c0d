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


@pytest.fixture
def program(fakes, tmp_path):
    """Runs a program with PyTorch and the calls of HEAD. Returns the lines that it printed, and its last one's JSON."""

    def run(text, launcher=(), has_gpu=True, **variables):
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
        environment |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        environment["TURNPIKE_CUPTI"] = str(fakes / "libfakecupti.so") if has_gpu else "/nowhere/libcupti.so"
        command = [sys.executable, *launcher, str(script)]
        result = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )
        assert result.returncode == 0, result.stderr[-4000:]
        return result.stdout, json.loads(result.stdout.splitlines()[-1])

    return run
