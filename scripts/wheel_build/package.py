"""Builds one wheel: the package for one CPython and one processor."""

import json
import pathlib
import re
import shutil
import subprocess
import typing

from wheel_build.shell import ROOT, WORK, BuildError, run, say
from wheel_build.toolchain import tool

DIST = ROOT / "dist"
BUILD_REQUIREMENTS = ROOT / "scripts" / "requirements-build.txt"
# From this version on, one wheel serves all later ones: CPython's stable ABI.
STABLE_ABI_FROM = (3, 12)
# Free-threaded builds have no stable ABI, and Turnpike no extension for them.
FREE_THREADED = ["cp313", "cp314"]
_QUESTION = """
import json, os, sys, sysconfig
print(json.dumps([list(sys.version_info[:2]), sysconfig.get_config_var("EXT_SUFFIX"),
                  bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
                  os.path.exists(sysconfig.get_path("include") + "/Python.h")]))
"""
_HOOK = """
import json, sys
from scikit_build_core.build import build_wheel
build_wheel(sys.argv[1], json.loads(sys.argv[2]))
"""
# auditwheel's command line offers only the platforms of the machine, though it can check those of any other.
_AUDITWHEEL = """
import platform, sys
processor = sys.argv.pop(1)
platform.machine = lambda: processor
from auditwheel.main import main
sys.exit(main())
"""


class Interpreter(typing.NamedTuple):
    path: str
    version: tuple[int, int]
    suffix: str  # of its extensions: .cpython-312-x86_64-linux-gnu.so

    @property
    def name(self):
        return f"{self.version[0]}.{self.version[1]}"

    @property
    def environment(self):
        return WORK / f"python-{self.name}"

    def make_environment(self):
        """With scikit-build-core and nanobind, pinned: their headers stay where they are from build to build."""
        stamp, wanted = self.environment / "made-from.txt", f"{self.path}\n{BUILD_REQUIREMENTS.read_text()}"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.environment, ignore_errors=True)
        run(self.path, "-m", "venv", self.environment, failure=f"{self.path} can make no virtual environment")
        run(
            self.environment / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check",
            "--require-hashes", "-r", BUILD_REQUIREMENTS,
            failure="scikit-build-core and nanobind could not be installed",
        )  # fmt: skip
        stamp.write_text(wanted)


def ask(path):
    """The interpreter at `path`. Raises BuildError if it cannot build extensions for an ordinary CPython."""
    result = subprocess.run([path, "-c", _QUESTION], capture_output=True, text=True)
    if result.returncode != 0:
        raise BuildError(f"{path} does not run: {result.stderr.strip()}")
    version, suffix, is_free_threaded, has_headers = json.loads(result.stdout)
    if is_free_threaded:
        raise BuildError(f"{path} is a free-threaded build; Turnpike has no extension for those")
    if not has_headers:
        raise BuildError(f"{path} has no Python.h: install its headers")
    return Interpreter(str(path), tuple(version), suffix)


def find_interpreter(version):
    """CPython `version` ("3.10") on the PATH or among pyenv's."""
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    reasons = []
    for path in filter(None, candidates):
        try:
            return ask(path)
        except BuildError as error:
            reasons.append(str(error))
    raise BuildError("\n".join([*reasons, f"CPython {version} is not here: name one with --python PATH"]))


def build(interpreter, toolchain):
    """Builds the wheel, checks it against the glibc that it promises, and puts it into dist/. Returns its path."""
    say(f"building for CPython {interpreter.name} on {toolchain.platform}")
    interpreter.make_environment()
    # One folder for all versions of Python: only the extension differs, and all else is built once.
    folder = toolchain.folder / "build"
    (folder / "CMakeCache.txt").unlink(missing_ok=True)
    made = toolchain.folder / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    settings = {
        "build-dir": str(folder),
        "cmake.build-type": "Release",
        "cmake.define.CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG",
        "cmake.define.CMAKE_C_FLAGS_RELEASE": "-O2 -DNDEBUG",
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(toolchain.cmake_file),
        "install.strip": "false",
    }
    environment = {
        **toolchain.environment,
        "_PYTHON_HOST_PLATFORM": f"linux-{toolchain.processor}",
        "SETUPTOOLS_EXT_SUFFIX": re.sub(r"(x86_64|aarch64)", toolchain.processor, interpreter.suffix),
    }
    run(
        interpreter.environment / "bin" / "python", "-c", _HOOK, made, json.dumps(settings),
        environment=environment, failure=f"the wheel for CPython {interpreter.name} could not be built",
    )  # fmt: skip
    (wheel,) = made.glob("*.whl")
    return promise(wheel, toolchain)


def promise(wheel, toolchain):
    """Gives the wheel the tag of its glibc. auditwheel refuses if it needs a later one, or libraries of the machine."""
    DIST.mkdir(exist_ok=True)
    checked = toolchain.folder / "checked"
    shutil.rmtree(checked, ignore_errors=True)
    run(
        tool("python"), "-c", _AUDITWHEEL, toolchain.processor, "repair", "--plat", toolchain.platform, "--only-plat",
        "--wheel-dir", checked, wheel,
        environment={"PATH": f"{tool('python').parent}:/usr/bin:/bin"},
        failure=f"{wheel.name} does not run on {toolchain.platform}",
    )  # fmt: skip
    (repaired,) = checked.glob("*.whl")
    shutil.copy(repaired, DIST)
    return DIST / repaired.name


def without_extension(wheel, toolchain):
    """A second wheel, for free-threaded builds: the import says what is missing, the executable works all the same."""
    folder = toolchain.folder / "free-threaded"
    shutil.rmtree(folder, ignore_errors=True)
    run(tool("wheel"), "unpack", "--dest", folder, wheel, failure=f"{wheel.name} could not be unpacked")
    (unpacked,) = folder.iterdir()
    for extension in unpacked.glob("turnpike/_core*.so"):
        extension.unlink()
    (tags,) = unpacked.glob("*.dist-info/WHEEL")
    lines = [line for line in tags.read_text().splitlines() if line and not line.startswith("Tag:")]
    lines += [f"Tag: {python}-{python}t-{toolchain.platform}" for python in FREE_THREADED]
    tags.write_text("\n".join(lines) + "\n")
    run(tool("wheel"), "pack", "--dest-dir", DIST, unpacked, failure="the wheel could not be packed")
