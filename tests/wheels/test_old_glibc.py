"""The x86-64 wheel with the C library of Debian 11 and Ubuntu 20.04, run by that library's own loader."""

import pytest
import roots
from wheel_files import output, wheels

LIBRARIES = "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"


@pytest.fixture(scope="module")
def old_system():
    """The start of a command line that runs a program with the old C library and nothing of this machine."""
    root = roots.old_glibc("amd64")
    path = ":".join(str(root / library) for library in LIBRARIES)
    return [root / "lib" / "x86_64-linux-gnu" / "ld-2.31.so", "--library-path", path], root


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    chosen = wheels("x86_64")
    assert chosen
    return chosen[0].unpack(tmp_path_factory.mktemp("wheel")) / "turnpike"


def test_report_is_the_same_as_here(old_system, package, recordings):
    loader, _ = old_system
    executable = package / "_native" / "turnpike"
    for recording in recordings:
        assert output(*loader, executable, "report", recording) == output(executable, "report", recording)


def test_recorder_is_loaded(old_system, package):
    loader, root = old_system
    library = package / "_native" / "libturnpike_record.so"
    program = f"import ctypes; print(ctypes.CDLL({str(library)!r}).turnpike_is_recording())"
    environment = {"PYTHONHOME": str(root / "usr"), "PATH": "/usr/bin:/bin"}
    assert output(*loader, root / "usr" / "bin" / "python3.9", "-c", program, env=environment) == "0\n"
