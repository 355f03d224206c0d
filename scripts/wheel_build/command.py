"""The command line of scripts/wheels."""

import argparse
import time

from wheel_build import package, third_party, toolchain
from wheel_build.shell import LOG, WORK, BuildError, say

# 3.12's serves every later version.
VERSIONS = ["3.10", "3.11", "3.12"]
PROCESSORS = ["x86_64", "aarch64"]
DESCRIPTION = """
Builds the wheels of a release into dist/, for the glibc that scripts/wheel_build/toolchain.py names and later ones. No
container is needed: zig (from PyPI) compiles for every processor and glibc, and third-party sources come from Debian's
packages. Both are pinned. What is made on the way stays in build/wheels, so that the next run is quick.
"""


def parse():
    parser = argparse.ArgumentParser(description=DESCRIPTION)
    parser.add_argument("--for", nargs="+", choices=VERSIONS, default=VERSIONS, dest="versions", help="of CPython")
    parser.add_argument("--on", nargs="+", choices=PROCESSORS, default=PROCESSORS, dest="processors", help="processors")
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="build with this interpreter")
    return parser.parse_args()


def build_all(arguments):
    named = {interpreter.name: interpreter for interpreter in map(package.ask, arguments.python)}
    interpreters = [named.get(version) or package.find_interpreter(version) for version in arguments.versions]
    toolchain.install_tools()
    sources = third_party.prepare()
    for processor in arguments.processors:
        chosen = toolchain.Toolchain(processor)
        chosen.write_compilers()
        chosen.build_third_party(sources)
        for interpreter in interpreters:
            start_s = time.monotonic()
            wheel = package.build(interpreter, chosen)
            if interpreter.version >= package.STABLE_ABI_FROM:
                package.without_extension(wheel, chosen)
            say(f"{wheel.relative_to(package.ROOT)} ({time.monotonic() - start_s:.0f} s)")


def main():
    arguments = parse()
    WORK.mkdir(parents=True, exist_ok=True)
    LOG.write_text("")
    try:
        build_all(arguments)
    except BuildError as error:
        say(error)
        return 1
    return 0
