"""Runs to report on, and a driver to copy with, made without a GPU."""

import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tracefile  # noqa: E402

MS = 1_000_000


@pytest.fixture
def run(tmp_path):
    """A run of one process: three blocking uploads on line 7 of train.py beside two kernels, and one loss."""
    trace = tracefile.TraceFile()
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full"}
    trace.device("Test GPU")
    stack = trace.stack(
        trace.frame(tracefile.NATIVE_FRAME, "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b", "libtorch_cpu.so"),
        trace.frame(tracefile.NATIVE_FRAME, "_ZN2at4_ops15to_dtype_layout4callE", "libtorch_cpu.so"),
        trace.frame(tracefile.PYTHON_FRAME, "<b>train</b>", "/home/someone/train.py", 7),
    )
    for index in range(3):
        start = index * 10 * MS
        trace.call(
            "cudaMemcpyAsync", tracefile.COPY_CALL, index + 1, start, start + 2 * MS, stack=stack, size_bytes=4096
        )
        trace.memcpy(
            tracefile.HOST_TO_DEVICE, tracefile.PAGEABLE, tracefile.DEVICE, 4096, index + 1, start + MS, start + 2 * MS
        )
    for index in range(2):
        start = 40 * MS + index * MS
        trace.call("cudaLaunchKernel", tracefile.LAUNCH_CALL, 10 + index, start, start + 1000, stack=stack)
        trace.kernel("kernel", 10 + index, start, start + MS)
    trace.losses = {1: 5}
    folder = tmp_path / "run.tpk"
    folder.mkdir()
    trace.write(folder / "100.tpt")
    return folder


@pytest.fixture(scope="session")
def driver_folder(tmp_path_factory):
    """A folder with a libcuda.so.1 that copies at once, for the LD_LIBRARY_PATH of programs."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the driver that stands in for CUDA's cannot be built")
    folder = tmp_path_factory.mktemp("driver")
    source = pathlib.Path(__file__).with_name("synchronous_driver.c")
    command = [compiler, "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so.1", source]
    subprocess.run(command, check=True)
    return folder
