"""The built executable, with a program and a recorder that stand for CUDA and Turnpike: recording without a GPU."""

import os
import pathlib
import subprocess
import tempfile

import pytest


def built(name):
    """A file of the build folder that TURNPIKE_BUILD names."""
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail(
            "TURNPIKE_BUILD is not set: name the folder in which Turnpike was built, with its tests", pytrace=False
        )
    path = pathlib.Path(folder).resolve() / name
    if not path.exists():
        pytest.fail(f"{path} is not there: build it first", pytrace=False)
    return path


@pytest.fixture(scope="session")
def turnpike():
    return built("src/cli/turnpike")


@pytest.fixture(scope="session")
def launcher():
    return built("src/cli/launcher/turnpike")


@pytest.fixture(scope="session")
def fake_recorder():
    return built("tests/cli/libturnpike_fake_recorder.so")


@pytest.fixture(scope="session")
def record_library():
    return built("src/record/libturnpike_record.so")


@pytest.fixture(scope="session")
def fake_libraries():
    """The folder of those that stand for CUDA and CUPTI."""
    return built("tests/fake/lib")


@pytest.fixture(scope="session")
def victim():
    """The program of the recorder's own tests."""
    return built("tests/record/record_victim")


@pytest.fixture(scope="session")
def guard_library():
    return built("src/guard/libturnpike_guard.so")


@pytest.fixture(scope="session")
def cuda_program():
    return built("tests/cli/fake_cuda_program")


@pytest.fixture(scope="session")
def python_3_14_library():
    """libpython3.14.so.1.0: a program that loads it looks like CPython 3.14. Every user may read it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder) / "libpython3.14.so.1.0"
        source = pathlib.Path(__file__).with_name("fake_python_3_14.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
        yield path


@pytest.fixture
def environment(fake_recorder, tmp_path):
    """What `turnpike` is started with: nothing of Turnpike's or CUDA's from outside, and the fake recorder."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "CUDA", "NVTX", "XDG"))
    }
    return {**clean, "TURNPIKE_RECORD_LIBRARY": str(fake_recorder), "XDG_CACHE_HOME": str(tmp_path / "cache")}


class Record:
    """`turnpike record` in a directory of its own."""

    def __init__(self, turnpike, directory, environment):
        self.turnpike = turnpike
        self.directory = directory
        self.environment = environment

    def arguments(self, *command, options=()):
        return [str(word) for word in (self.turnpike, "record", *options, "--", *command)]

    def __call__(self, *command, options=(), **more):
        """Runs it to its end. The result's output is bytes in stdout, text in stderr."""
        result = subprocess.run(
            self.arguments(*command, options=options),
            **{"cwd": self.directory, "env": self.environment, "capture_output": True, "timeout": 60, **more},
        )
        result.stderr = (result.stderr or b"").decode()
        return result

    def start(self, *command, options=(), **more):
        """Starts it in a process group of its own, as a shell would."""
        return subprocess.Popen(
            self.arguments(*command, options=options),
            **{
                "cwd": self.directory,
                "env": self.environment,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "preexec_fn": os.setpgrp,
                **more,
            },
        )

    def runs(self):
        return sorted(path.name for path in self.directory.glob("*.tpk"))


@pytest.fixture
def record(turnpike, environment, tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    return Record(turnpike, directory, environment)


@pytest.fixture
def attach(record):
    """`turnpike attach` in the folder of `record`."""

    def words(*arguments):
        return [str(record.turnpike), "attach", *map(str, arguments)]

    def more():
        environment = {name: value for name, value in record.environment.items() if name != "LD_LIBRARY_PATH"}
        return {"cwd": record.directory, "env": environment, "text": True}

    def attach(*arguments):
        return subprocess.run(words(*arguments), capture_output=True, timeout=60, **more())

    def start(*arguments, **others):
        return subprocess.Popen(
            words(*arguments), **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more(), **others}
        )

    attach.start = start
    return attach


@pytest.fixture
def run(turnpike, environment, tmp_path):
    """Runs a command of the built executable in an empty folder."""

    def run(*arguments):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    return run
