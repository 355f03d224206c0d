"""The compilers for one processor: zig's, with the symbols of an old glibc, and third-party code built with them."""

import pathlib
import shutil
import sys
import typing

from wheel_build.shell import ROOT, WORK, run, say

# That of RHEL 8 and of PyTorch's own wheels; Ubuntu 20.04 and Debian 11 have later ones, Debian 10 the same.
GLIBC = (2, 28)
REQUIREMENTS = ROOT / "scripts" / "requirements-wheels.txt"
TOOLS = WORK / "tools"


def tool(name):
    return TOOLS / "bin" / name


def install_tools():
    """zig and auditwheel, in an environment of their own."""
    stamp = TOOLS / "made-from.txt"
    if stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text():
        return
    say("installing zig and auditwheel")
    shutil.rmtree(TOOLS, ignore_errors=True)
    run(sys.executable, "-m", "venv", TOOLS, failure="a virtual environment cannot be made")
    run(
        tool("python"), "-m", "pip", "install", "--disable-pip-version-check", "--require-hashes",
        "-r", REQUIREMENTS, failure="the tools could not be installed",
    )  # fmt: skip
    stamp.write_text(REQUIREMENTS.read_text())


class Toolchain(typing.NamedTuple):
    processor: str  # as the wheel's tag names it: x86_64 or aarch64

    @property
    def folder(self):
        return WORK / self.processor

    @property
    def platform(self):
        return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.processor}"

    @property
    def cmake_file(self):
        return ROOT / "cmake" / "zig.cmake"

    @property
    def environment(self):
        """What cmake/zig.cmake reads."""
        return {
            "TURNPIKE_WHEEL_PROCESSOR": self.processor,
            "TURNPIKE_WHEEL_TOOLS": str(self.folder / "tools"),
            "TURNPIKE_WHEEL_PREFIX": str(self.folder / "prefix"),
        }

    def write_compilers(self):
        """CMake and the linker want commands without arguments of their own."""
        target = f"-target {self.processor}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
        commands = {"cc": f"cc {target}", "c++": f"c++ {target}", "ar": "ar", "ranlib": "ranlib"}
        folder = self.folder / "tools"
        folder.mkdir(parents=True, exist_ok=True)
        (zig,) = TOOLS.glob("lib/python3*/site-packages/ziglang/zig")
        for name, command in commands.items():
            write_if_new(folder / name, f'#!/bin/sh\nexec {zig} {command} "$@"\n')

    def build_third_party(self, sources):
        stamp, wanted = self.folder / "prefix" / "made-from.txt", (sources / "made-from.lock").read_text()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        say(f"building libdeflate, SQLite and zlib for {self.processor}")
        build = self.folder / "third_party"
        shutil.rmtree(build, ignore_errors=True)
        run(
            "cmake", "-G", "Ninja", "-S", ROOT / "cmake" / "third_party", "-B", build, f"-DSOURCES={sources}",
            "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_TOOLCHAIN_FILE={self.cmake_file}",
            f"-DCMAKE_INSTALL_PREFIX={self.folder / 'prefix'}",
            environment=self.environment, failure="the third-party code could not be configured",
        )  # fmt: skip
        run(
            "cmake", "--build", build, "--target", "install",
            environment=self.environment, failure="the third-party code could not be built",
        )  # fmt: skip
        stamp.write_text(wanted)


def write_if_new(path: pathlib.Path, text):
    """Leaves a compiler alone that is as wanted."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        path.chmod(0o755)
