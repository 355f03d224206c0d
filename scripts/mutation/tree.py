"""A copy of the checkout with the mutants in it, and its build. The checkout itself is never touched."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

from . import cpp, python

HERE = pathlib.Path(__file__).resolve().parent
# Sources without mutants keep the flags that everyone builds with, so that ccache knows them.
LAUNCHER = """#!/bin/sh
# Compiles. Sources with mutants in them get no warnings: they have many. Others are tried as they are first.
{ccache} "$@" 2>/dev/null || exec {ccache} "$@" -w
"""
ERROR = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?error:", re.MULTILINE)
PLACE = re.compile(r"^\s*(?:In file included from |from )?(\S+?):(\d+)(?::\d+)?[:,]", re.MULTILINE)
FAILED = re.compile(r"^FAILED: ", re.MULTILINE)


def say(text):
    print(f"mutate: {text}", file=sys.stderr, flush=True)


def write_if_other(path, content, mode=0o644):
    if path.is_symlink() or not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_bytes(content)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


class Tree:
    def __init__(self, root, folder, python, jobs):
        self.root, self.folder, self.python, self.jobs = root, folder, python, jobs
        # As deep as in the checkout, so that ccache knows the commands.
        self.build = folder / "build" / "wheel"
        self.commands = folder / "build" / "commands"  # only configured: how each source is compiled by itself
        self.log = folder.parent / "build.log"

    # Sources

    def files(self):
        listed = subprocess.run(
            ["git", "-C", self.root, "ls-files", "-z", "-c", "-o", "--exclude-standard"],
            capture_output=True,
            check=True,
        )
        return sorted(name for name in listed.stdout.decode().split("\0") if name and (self.root / name).is_file())

    def write(self, numbered):
        """The sources, with these mutants. What did not change keeps its time."""
        by_path = {}
        for number, mutant in numbered:
            by_path.setdefault(mutant.path, []).append((number, mutant))
        names = self.files()
        for name in names:
            text = (self.root / name).read_bytes()
            if name in by_path:
                text = (python if name.endswith(".py") else cpp).file_with(text, by_path[name], name)
            elif name == LISTENED:
                text = with_listener(text)
            write_if_other(self.folder / name, text, stat.S_IMODE((self.root / name).stat().st_mode))
        ours = {
            "src/turnpike_mutant.h": "turnpike_mutant.h",
            "tests/gtest_listener.cpp": "gtest_listener.cpp",
            "python/turnpike_mutant.py": "turnpike_mutant.py",
            "plugin/pytest_reached.py": "pytest_reached.py",
        }
        for name, source in ours.items():
            write_if_other(self.folder / name, (HERE / source).read_bytes())
        self.remove_others(set(names) | set(ours))

    def remove_others(self, names):
        for part in ("src", "tests", "python", "bench"):
            for path in (self.folder / part).rglob("*"):
                name = str(path.relative_to(self.folder))
                is_ours = path.suffix in (".so", ".pyc") or "__pycache__" in name or "/_native/" in name
                if path.is_file() and name not in names and not is_ours:
                    path.unlink()

    # Build

    def know_commands(self):
        """Makes the commands of the build those of the checkout. The mutants of the last run stay in it."""
        names = [name for name in self.files() if name.endswith(("CMakeLists.txt", ".cmake", "CMakePresets.json"))]
        texts = {name: (self.root / name).read_bytes() for name in names}
        texts[LISTENED] = with_listener(texts[LISTENED])
        is_known = (self.commands / "compile_commands.json").exists() and all(
            (self.folder / name).exists() and (self.folder / name).read_bytes() == text for name, text in texts.items()
        )
        if not is_known:
            self.write([])
            self.configure(self.commands)

    def configure(self, folder, *more):
        launcher = self.folder / "compile"
        write_if_other(launcher, LAUNCHER.format(ccache=shutil.which("ccache") or "").encode(), 0o755)
        command = ["cmake", "--preset", "release", "-B", folder, f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", *more]
        headers = cuda_headers(self.root)
        if headers:
            command.append(f"-DTURNPIKE_CUDA_INCLUDE={headers}")
        with_module = subprocess.run([self.python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True)
        if with_module.returncode == 0:
            place = with_module.stdout.strip()
            command += ["-DTURNPIKE_PYTHON=ON", f"-Dnanobind_DIR={place}", f"-DPython_EXECUTABLE={self.python}"]
        else:
            say(f"{self.python} has no nanobind: src/python is not built, and no test of Python sees a mutant of it")
            command += ["-DTURNPIKE_PYTHON=OFF"]
        self.run(command, self.folder.parent / "configure.log")

    def run(self, command, log):
        result = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        log.write_text(result.stdout)
        if result.returncode != 0:
            raise SystemExit(f"mutate: {command[0]} failed; all of it is in {log}\n{result.stdout[-3000:]}")

    def targets(self, words):
        """What must be built for the tests whose name contains one of these words."""
        listed = subprocess.run(
            ["ninja", "-C", self.build, "-t", "targets", "all"], capture_output=True, text=True, check=True
        )
        programs = re.findall(r"^(\w+_tests?): phony$", listed.stdout, re.MULTILINE)
        if any(not any(word in program for program in programs) for word in words):
            return ["all"]
        return [program for program in programs if any(word in program for word in words)] or ["all"]

    def make(self, numbered, words):
        """Builds with these pairs of number and mutant, less those that the compiler rejects. Returns both.

        With `words`, only the tests whose name contains one of them.
        """
        left, rejected = list(numbered), []
        if all(mutant.path.endswith(".py") for _, mutant in left):
            self.write(left)
            self.place_installed()
            return left, rejected
        while True:
            self.write(left)
            # As the wheel is built: several sources at once take a third of the time.
            self.configure(self.build, "-DTURNPIKE_UNITY=ON", "-DTURNPIKE_WERROR=OFF")
            command = ["ninja", "-C", self.build, "-j", str(self.jobs), "-k", "0", *self.targets(words)]
            result = subprocess.run(
                [str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
            self.log.write_text(result.stdout)
            if result.returncode == 0:
                self.place_built()
                return left, rejected
            bad = self.rejected(result.stdout, left)
            if not bad:
                raise SystemExit(
                    f"mutate: the build fails, and not for a mutant; see {self.log}\n{result.stdout[-3000:]}"
                )
            self.log.rename(self.log.with_name("rejected.log"))
            say(f"the compiler rejects {len(bad)} mutants (build/mutation/rejected.log); building again without them")
            rejected += [pair for pair in left if pair[0] in bad]
            left = [pair for pair in left if pair[0] not in bad]

    def rejected(self, output, numbered):
        """The numbers of the mutants that made the build fail: those of the lines in each unit's errors."""
        bad = set()
        for unit in FAILED.split(output)[1:]:
            errors = [self.at(numbered, *place) for place in ERROR.findall(unit)]
            found = set().union(*errors)
            if not found:  # an error elsewhere, such as in a template: the lines that led there
                found = set().union(*(self.at(numbered, *place) for place in PLACE.findall(unit)))
            if not found:
                files = {self.below(path) for path, _ in PLACE.findall(unit)}
                found = {number for number, mutant in numbered if mutant.path in files}
            bad |= found
        return bad

    def below(self, path):
        whole = pathlib.Path(os.path.normpath(self.build / path))
        return str(whole.relative_to(self.folder)) if whole.is_relative_to(self.folder) else None

    def at(self, numbered, path, line):
        name = self.below(path)
        return {
            number
            for number, mutant in numbered
            if mutant.path == name and mutant.line <= int(line) <= mutant.line + mutant.original.count("\n")
        }

    def place_built(self):
        """The built extension and programs, where the package looks for them."""
        package = self.folder / "python" / "turnpike"
        made = [(path, package / path.name) for path in (self.build / "src" / "python").glob("_core*.so")]
        made.append((self.build / "src" / "cli" / "turnpike", package / "_native" / "turnpike"))
        for room in ("record", "guard"):
            library = f"libturnpike_{room}.so"
            made.append((self.build / "src" / room / library, package / "_native" / library))
        for built, place in made:
            place.unlink(missing_ok=True)
            if built.exists():
                os.link(built, place)

    def place_installed(self):
        """Where only Python is changed: the extension and the programs of the checkout, or of the installed package."""
        if (self.build / "src" / "cli" / "turnpike").exists():
            self.place_built()
        package = self.folder / "python" / "turnpike"
        program = "import importlib.util; print(importlib.util.find_spec('turnpike').submodule_search_locations[0])"
        installed = subprocess.run([self.python, "-P", "-c", program], cwd="/", capture_output=True, text=True)
        places = [self.root / "python" / "turnpike", pathlib.Path(installed.stdout.strip() or "/nowhere")]
        for pattern in (
            "_core*.so",
            "_native/turnpike",
            "_native/libturnpike_record.so",
            "_native/libturnpike_guard.so",
        ):
            if any(package.glob(pattern)):
                continue
            found = next((path for place in places for path in place.glob(pattern)), None)
            if found is None:
                raise SystemExit(
                    f"mutate: python/turnpike has no {pattern}: run scripts/bootstrap, or name a --python with turnpike"
                )
            write_if_other(package / found.relative_to(found.parents[pattern.count("/")]), found.read_bytes(), 0o755)


LISTENED = "tests/CMakeLists.txt"
LISTENER = b"""include(GoogleTest)
add_library(mutation_listener OBJECT gtest_listener.cpp)
target_link_libraries(mutation_listener turnpike_options GTest::gtest)
"""


def with_listener(text):
    """tests/CMakeLists.txt, with the listener in every test program."""
    wanted = b"add_executable(${name} ${arg_SOURCES})"
    if text.count(wanted) != 1 or text.count(b"include(GoogleTest)\n") != 1:
        raise SystemExit(
            "mutate: tests/CMakeLists.txt makes test programs in a way that scripts/mutation/tree.py is not for"
        )
    text = text.replace(wanted, b"add_executable(${name} ${arg_SOURCES} $<TARGET_OBJECTS:mutation_listener>)")
    return text.replace(b"include(GoogleTest)\n", LISTENER)


def cuda_headers(root):
    """The folder of CUDA's headers that another build of this checkout, or of its main one, has found."""
    common = subprocess.run(
        ["git", "-C", root, "rev-parse", "--path-format=absolute", "--git-common-dir"], capture_output=True, text=True
    )
    for place in (root, pathlib.Path(common.stdout.strip()).parent):
        for cache in sorted(place.glob("build/*/CMakeCache.txt")):
            found = re.search(r"^TURNPIKE_CUDA_INCLUDE:\w+=(.+)$", cache.read_text(), re.MULTILINE)
            if found and pathlib.Path(found.group(1)).is_dir():
                return found.group(1)
    return None
