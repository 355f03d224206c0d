"""The x86-64 wheels in each CPython that is here, 3.10 to 3.14, installed by pip as a user would."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest
from wheel_files import FOLDER, ROOT, output, wheels

VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


def interpreter(version):
    """A CPython of this version: on the PATH, or among pyenv's."""
    found = [
        shutil.which(f"python{version}"),
        *pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"),
    ]
    for path in filter(None, found):
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def serves(wheel, version):
    number = version.replace(".", "")
    return wheel.python == f"cp{number}" or wheel.abi == "abi3" and int(wheel.python[2:]) <= int(number)


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request, tmp_path_factory):
    """An environment of this version with the wheel and pytest in it."""
    if platform.machine() != "x86_64":
        pytest.skip("the wheels of x86-64 are installed there")
    path = interpreter(request.param)
    if path is None:
        pytest.skip(f"no CPython {request.param} here")
    if not any(serves(wheel, request.param) for wheel in wheels("x86_64")):
        pytest.skip(f"no wheel for CPython {request.param} in {FOLDER}: scripts/wheels builds it")
    folder = tmp_path_factory.mktemp("installed") / request.param
    output(path, "-m", "venv", folder)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output(*pip, "--no-index", "--find-links", FOLDER, "turnpike-gpu")
    pinned = re.search(r"^pytest==\S+", (ROOT / "scripts" / "requirements-build.txt").read_text(), re.M).group()
    output(*pip, pinned)
    return python


def test_package_passes_its_tests(installed, tmp_path):
    tests = ROOT / "tests" / "python" / "test_package.py"
    environment = {**os.environ, "PATH": f"{installed.parent}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    output(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=tmp_path, env=environment)


def test_command_and_package_report_the_same(installed, recordings):
    for recording in recordings:
        printed = output(installed.with_name("turnpike"), "report", "--json", recording)
        program = f"import json, turnpike; print(json.dumps(turnpike.report({str(recording)!r}).to_dict()))"
        assert json.loads(output(installed, "-c", program)) == json.loads(printed)


def test_the_command_is_no_script_and_runs_its_parts_in_python(installed):
    command = installed.with_name("turnpike")
    assert command.read_bytes().startswith(b"\x7fELF")
    version = wheels("x86_64")[0].version
    for printed in (output(command, "--version"), output(installed, "-m", "turnpike", "--version")):
        assert printed == f"turnpike {version}\n"
    assert "--quick" in output(command, "bench", "to", "--help")


@pytest.mark.parametrize("place", ["--target", "--user", "--prefix"])
def test_the_command_finds_its_package_wherever_pip_puts_both(place, tmp_path):
    python = interpreter("3.12")
    if python is None:
        pytest.skip("no CPython 3.12 here")
    where = [place] if place == "--user" else [place, tmp_path]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--ignore-installed"]
    environment = {**os.environ, "PYTHONUSERBASE": str(tmp_path), "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    environment.pop("PYTHONPATH", None)
    output(*pip, "--find-links", FOLDER, *where, "turnpike-gpu", env=environment)
    command = tmp_path / "bin" / "turnpike"
    environment["PATH"] = f"{pathlib.Path(python).parent}:/usr/bin:/bin"
    assert output(command, "--version", env=environment).startswith("turnpike ")
    assert "--quick" in output(command, "bench", "to", "--help", env=environment)


def test_free_threaded_build_is_told_what_is_missing(tmp_path):
    """pip takes the wheel for such a build; the import, which finds no extension, says what to do."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-index",
        "--find-links",
    ]
    build = [
        "--python-version",
        "3.14",
        "--abi",
        "cp314t",
        "--platform",
        "manylinux_2_28_x86_64",
        "--only-binary",
        ":all:",
    ]
    output(*pip, FOLDER, "--target", tmp_path, *build, "turnpike-gpu")
    program = """
import sysconfig
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else None
import turnpike
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert result.returncode == 1
    message = result.stderr.strip().splitlines()[-1]
    assert message.startswith("ImportError: Turnpike has no extension module for this free-threaded build of CPython")
    command = tmp_path / "turnpike" / "_native" / "turnpike"
    assert str(command) in message
    assert "turnpike" in output(command, "--version")
