"""The aarch64 wheel under qemu: what reads recordings works and prints the same as on x86-64."""

import pytest
import roots
from wheel_files import output, wheels


@pytest.fixture(scope="module")
def emulator():
    return roots.qemu_aarch64()


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The unpacked package for each processor: the abi3 wheels where there are several."""
    unpacked = {}
    for processor in ("x86_64", "aarch64"):
        chosen = [wheel for wheel in wheels(processor) if wheel.abi == "abi3"]
        if not chosen:
            pytest.skip(f"no abi3 wheel for {processor} here: scripts/wheels builds it")
        unpacked[processor] = chosen[0].unpack(tmp_path_factory.mktemp(processor)) / "turnpike"
    return unpacked


def test_report_is_the_same_as_on_x86_64(emulator, packages, recordings):
    root = roots.old_glibc("arm64")
    native, foreign = packages["x86_64"] / "_native" / "turnpike", packages["aarch64"] / "_native" / "turnpike"
    for recording in recordings:
        for options in ([], ["--json"]):
            command = "report", *options, recording
            assert output(emulator, "-L", root, foreign, *command) == output(native, *command)


def in_python(emulator, packages, program):
    root = roots.python_3_13("arm64")
    environment = {
        "PYTHONHOME": str(root / "usr"),
        "PYTHONPATH": str(packages["aarch64"].parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": "/usr/bin:/bin",
    }
    return output(emulator, "-L", root, root / "usr" / "bin" / "python3.13", "-c", program, env=environment)


def test_package_is_imported_and_analyses(emulator, packages, recordings):
    program = f"""
import platform, turnpike
report = turnpike.report({str(recordings[0])!r})
print(platform.machine(), turnpike.__version__, len(report.findings) > 0)
"""
    version = wheels("aarch64")[0].version
    assert in_python(emulator, packages, program) == f"aarch64 {version} True\n"


def test_recorder_says_that_cuda_is_missing(emulator, packages, tmp_path):
    """It is loaded and answers; what it misses has a name."""
    program = f"""
import turnpike
try:
    turnpike.start({str(tmp_path / "run.tpk")!r})
except turnpike.Error as error:
    print("error:", error)
print(turnpike.is_recording())
"""
    said, is_recording = in_python(emulator, packages, program).splitlines()
    assert said.startswith("error: there is no CUDA driver on this machine (libcuda.so.1")
    assert is_recording == "False"
